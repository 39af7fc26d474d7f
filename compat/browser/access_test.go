package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// TestScreenReader looks at every page as a screen reader does: at the tree of
// roles and names that the browser makes of it.
func TestScreenReader(t *testing.T) {
	v := visit(t, start(t), desk)
	prepare(v)
	for _, page := range everyPage(v) {
		v.open(page.path)
		if page.path == "/decide" {
			v.click(".actions button.primary")
			v.seen(".answer")
		}
		for _, bad := range v.unread() {
			t.Errorf("%s: %s", page.path, bad)
		}
	}
}

// named are the roles of what must have a name.
var named = map[string]bool{
	"button": true, "link": true, "textbox": true, "searchbox": true, "combobox": true, "MenuListPopup": false, "checkbox": true,
	"image": true, "img": true, "navigation": true, "region": true, "group": false, "table": false,
}

// unread lists what is missing for who cannot see the page.
func (v visitor) unread() (bad []string) {
	v.Helper()
	var tree struct {
		Nodes []axNode `json:"nodes"`
	}
	v.do(chromedp.ActionFunc(func(ctx context.Context) error {
		return chromedp.FromContext(ctx).Target.Execute(ctx, "Accessibility.getFullAXTree", struct{}{}, &tree)
	}))
	count := map[string]int{}
	last := 0
	for _, n := range tree.Nodes {
		if n.Ignored {
			continue
		}
		role, name := n.Role.text(), n.Name.text()
		count[role]++
		if named[role] && name == "" {
			bad = append(bad, fmt.Sprintf("a %s without a name (%s)", role, n.NodeID))
		}
		if role == "heading" {
			level := levelOf(n)
			if level > last+1 {
				bad = append(bad, fmt.Sprintf("the heading %q is of level %d, after one of %d", name, level, last))
			}
			last = level
		}
	}
	for _, role := range []string{"banner", "main", "navigation", "heading"} {
		if count[role] == 0 {
			bad = append(bad, "no "+role)
		}
	}
	if count["main"] > 1 || count["banner"] > 1 {
		bad = append(bad, "a landmark twice")
	}
	var lang string
	v.do(chromedp.Evaluate(`document.documentElement.lang`, &lang))
	if lang == "" {
		bad = append(bad, "no language")
	}
	return bad
}

// axNode is a node of the tree, as far as it is looked at.
type axNode struct {
	NodeID     string  `json:"nodeId"`
	Ignored    bool    `json:"ignored"`
	Role       axValue `json:"role"`
	Name       axValue `json:"name"`
	Properties []struct {
		Name  string  `json:"name"`
		Value axValue `json:"value"`
	} `json:"properties"`
}

type axValue struct {
	Value any `json:"value"`
}

func (v axValue) text() string {
	text, _ := v.Value.(string)
	return text
}

func levelOf(n axNode) int {
	for _, p := range n.Properties {
		if level, ok := p.Value.Value.(float64); ok && p.Name == "level" {
			return int(level)
		}
	}
	return 0
}

// TestKeyboard signs in, decides and signs out without a mouse.
func TestKeyboard(t *testing.T) {
	v := visit(t, start(t), desk)
	v.open("/signin")
	v.press(v.key, kb.Enter) // the field has the focus
	v.seen("#decide")
	v.press(kb.Tab)
	v.focused("a.skip")
	v.press(kb.Enter)
	v.focused("main")
	v.press(kb.Tab, kb.Tab, kb.Tab)
	v.focused("#state")
	v.press(" And again today.", kb.Tab)
	v.focused("fieldset [name=name]")
	v.tabTo(".actions button.primary")
	v.press(kb.Enter)
	v.says(".answer h2", "team")
	v.tabTo(".snippets summary")
	v.press(kb.Enter)
	v.says(".snippets pre", "And again today.")
	v.do(chromedp.Focus("[data-signout] button", chromedp.ByQuery))
	v.press(" ")
	v.says("h1", "Sign in")
}

func (v visitor) press(keys ...string) {
	v.Helper()
	for _, k := range keys {
		v.do(chromedp.KeyEvent(k))
	}
}

// focused checks that an element has the focus.
func (v visitor) focused(selector string) {
	v.Helper()
	var html string
	v.do(chromedp.Evaluate(fmt.Sprintf(`document.activeElement === document.querySelector(%q) ? "" : document.activeElement.outerHTML`, selector), &html))
	if html != "" {
		v.Fatalf("%s does not have the focus, but %.300s", selector, html)
	}
}

// tabTo goes on by the tab key until an element has the focus, and shows it.
func (v visitor) tabTo(selector string) {
	v.Helper()
	for range 60 {
		var there bool
		v.do(chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(fmt.Sprintf(`document.activeElement === document.querySelector(%q)`, selector), &there))
		if there {
			var outlined bool
			v.do(chromedp.Evaluate(`getComputedStyle(document.activeElement).outlineStyle !== "none"`, &outlined))
			if !outlined {
				v.Errorf("who goes by keys does not see that %s has the focus", selector)
			}
			return
		}
	}
	v.Fatalf("no way by keys to %s", selector)
}
