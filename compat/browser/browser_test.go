// Package browser_test drives the console of a real svcd with a real Chromium:
// every page and every action, at the width of a desk and of a telephone.
//
//	go test ./...                         needs Chromium on the PATH, and says so where there is none
//	go test -run Screenshots -shots DIR   writes a picture of every page at both widths
//
// With SVC_BROWSER=required, as the project's own checks set it, a missing
// Chromium fails the tests instead of skipping them.
package browser_test

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

var shots = flag.String("shots", "", "a `directory` for a picture of every page")

const adminKey = "the-admin-key-of-these-tests"

// patience bounds each step in the browser, on a machine with much else to do.
const patience = 2 * time.Minute

var (
	chromium string // the program's path
	program  string // svcd
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			chromium = path
			break
		}
	}
	if chromium == "" {
		if os.Getenv("SVC_BROWSER") == "required" {
			fmt.Println("Chromium is not installed")
			return 1
		}
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "svc-browser")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "svcd")
	build := exec.Command("go", "build", "-o", program, "./cmd/svcd")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("building svcd: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// server is a running svcd.
type server struct {
	url, link, key string
}

var (
	listens = regexp.MustCompile(`svcd listens on (\S+)`)
	links   = regexp.MustCompile(`(?m)^(http\S+/console/signin/\S+)$`)
	keys    = regexp.MustCompile(`shown only this once: (\S+)`)
)

// start runs svcd on a port of its own with its data in memory.
func start(t *testing.T, flags ...string) server {
	t.Helper()
	if chromium == "" {
		t.Skip("needs Chromium: apt-get install chromium, then go test ./... in compat/browser")
	}
	cmd := exec.Command(program, append([]string{"-addr", "127.0.0.1:0", "-data", ":memory:", "-admin-key", adminKey}, flags...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
	})
	given := slices.Contains(flags, "-api-key") // then there is nothing to print
	var printed strings.Builder
	var s server
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		printed.WriteString(lines.Text() + "\n")
		if links.MatchString(printed.String()) || given && listens.MatchString(printed.String()) {
			break // it is the last
		}
	}
	go func() { // what else it prints must not fill the pipe
		for lines.Scan() {
		}
	}()
	s.url = found(t, listens, printed.String())
	if !given {
		s.key, s.link = found(t, keys, printed.String()), found(t, links, printed.String())
	}
	return s
}

func found(t *testing.T, re *regexp.Regexp, text string) string {
	t.Helper()
	m := re.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("svcd did not print %v:\n%s", re, text)
	}
	return m[1]
}

// visitor is a browser of its own.
type visitor struct {
	*testing.T
	server
	ctx      context.Context
	problems *[]string // what the browser complained of: policy, scripts, foreign requests
}

// visit opens a browser at a width.
func visit(t *testing.T, s server, width int64) visitor {
	t.Helper()
	profile, err := os.MkdirTemp("", "svc-browser-profile")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(profile) }) // Chromium may still be writing: what stays is the system's to remove
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium), chromedp.NoSandbox,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true), chromedp.UserDataDir(profile), chromedp.WSURLReadTimeout(patience))
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	if err := chromedp.Run(ctx); err != nil {
		t.Fatal("starting Chromium: ", err)
	}
	v := visitor{t, s, ctx, watch(ctx, s.url)}
	v.do(emulation.SetDeviceMetricsOverride(width, 900, 1, false))
	t.Cleanup(func() {
		for _, p := range *v.problems {
			t.Error("the browser says:", p)
		}
	})
	return v
}

// do runs steps in the browser, or fails the test.
func (v visitor) do(steps ...chromedp.Action) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	if err := chromedp.Run(ctx, steps...); err != nil {
		var html string
		_ = chromedp.Run(v.ctx, chromedp.InnerHTML("body", &html, chromedp.ByQuery))
		v.Fatalf("%v\nthe page is: %.3000s", err, html)
	}
}

// open goes to a path of the console.
func (v visitor) open(path string) {
	v.Helper()
	v.do(chromedp.Navigate(v.url+"/console"+path), chromedp.WaitVisible("main", chromedp.ByQuery))
}

// text is what an element says.
func (v visitor) text(selector string) string {
	v.Helper()
	var text string
	v.do(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// says waits until an element has a text.
func (v visitor) says(selector, want string) {
	v.Helper()
	v.until(fmt.Sprintf(`[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%s))`, selector, quoted(want)))
}

// until waits for an expression to be true, also over the change of a page.
func (v visitor) until(expression string) {
	v.Helper()
	ctx, cancel := context.WithTimeout(v.ctx, patience)
	defer cancel()
	for tick := time.Tick(50 * time.Millisecond); ; {
		var holds bool
		if err := chromedp.Run(ctx, chromedp.Evaluate(expression, &holds)); err == nil && holds {
			return
		}
		select {
		case <-tick:
		case <-ctx.Done():
			var html string
			_ = chromedp.Run(v.ctx, chromedp.InnerHTML("body", &html, chromedp.ByQuery)) // the page is for the message alone
			v.Fatalf("never true: %s\nthe page is: %.3000s", expression, html)
		}
	}
}

// seen waits until there is such an element.
func (v visitor) seen(selector string) {
	v.Helper()
	v.until(fmt.Sprintf(`document.querySelector(%q) !== null`, selector))
}

// click clicks and waits for the page that comes.
func (v visitor) click(selector string) {
	v.Helper()
	v.do(chromedp.Click(selector, chromedp.ByQuery, chromedp.NodeVisible))
}

// submit clicks what leads to another page, or to the same one anew, and waits
// for it.
func (v visitor) submit(selector string) {
	v.Helper()
	v.do(chromedp.Evaluate(`window.left = true`, nil))
	v.click(selector)
	v.until(`!window.left && document.readyState === "complete"`)
}

// fill writes into a field in place of what it has, at once, as a paste does.
func (v visitor) fill(selector, text string) {
	v.Helper()
	js := fmt.Sprintf(`(() => {
	  const field = document.querySelector(%q);
	  field.value = %s;
	  for (const kind of ["input", "change"]) field.dispatchEvent(new Event(kind, {bubbles: true}));
	})()`, selector, quoted(text))
	v.do(chromedp.WaitVisible(selector, chromedp.ByQuery), chromedp.Evaluate(js, nil))
}

// signIn signs in with a key.
func (v visitor) signIn(key string) {
	v.Helper()
	v.open("/signin")
	v.fill("#key", key)
	v.submit("form.card button.primary")
	v.seen("header nav")
}

// watch collects what a page must not do: break the policy, throw, or ask anybody
// but the server.
func watch(ctx context.Context, origin string) *[]string {
	problems := new([]string)
	chromedp.ListenTarget(ctx, func(event any) {
		switch e := event.(type) {
		case *network.EventRequestWillBeSent:
			if !strings.HasPrefix(e.Request.URL, origin+"/") && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "about:") {
				*problems = append(*problems, "a request to "+e.Request.URL)
			}
		}
		if text, ok := complaint(event); ok {
			*problems = append(*problems, text)
		}
	})
	return problems
}

// quoted is a text as JavaScript writes it.
func quoted(text string) string {
	data, err := json.Marshal(text)
	if err != nil {
		return `""`
	}
	return string(data)
}
