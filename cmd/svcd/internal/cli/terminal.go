package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// statusLine is a line on a terminal that is written over as things go on. What
// goes to anything else than a terminal is dropped. That a terminal is gone is
// no reason to stop, so writing to it has no errors.
type statusLine struct {
	terminal io.Writer // nil where there is none
	shown    string
}

func newStatusLine(w io.Writer) *statusLine {
	if !isTerminal(w) {
		w = nil
	}
	return &statusLine{terminal: w}
}

// show replaces the line where it is another one now.
func (l *statusLine) show(line string) {
	if l.terminal == nil || line == l.shown {
		return
	}
	_, _ = fmt.Fprintf(l.terminal, "\r%s\x1b[K", line)
	l.shown = line
}

// clear removes the line, keep leaves it and goes to the next.
func (l *statusLine) clear() { l.end("\r\x1b[K") }
func (l *statusLine) keep()  { l.end("\n") }

func (l *statusLine) end(text string) {
	if l.shown != "" {
		_, _ = io.WriteString(l.terminal, text)
	}
	l.shown = ""
}

// isTerminal reports whether a person sees what is written.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// steps shows how far something has come that has many equal steps: a bar on a
// terminal, and elsewhere a line at the end.
type steps struct {
	line               *statusLine
	out                io.Writer
	what               string
	first, done, total int
	begin              time.Time
}

// steps begins one of which some are done.
func (e Environment) steps(what string, done, total int) *steps {
	p := &steps{line: newStatusLine(e.Stderr), out: e.Stderr, what: what, first: done, done: done, total: total, begin: time.Now()}
	p.show()
	return p
}

// step notes that one more step is done.
func (p *steps) step() {
	p.done++
	p.show()
}

// reach notes how many steps are done.
func (p *steps) reach(done int) {
	p.done = done
	p.show()
}

func (p *steps) show() {
	text := fmt.Sprintf("%s %d of %d %s", bar(share(int64(p.done), int64(p.total))), p.done, p.total, p.what)
	if made, took := p.done-p.first, time.Since(p.begin); made > 0 && took > time.Second {
		left := time.Duration(float64(took) / float64(made) * float64(p.total-p.done))
		text += fmt.Sprintf(", %.1f/s, %s left", float64(made)/took.Seconds(), left.Round(time.Second))
	}
	p.line.show(text)
}

// end ends it, wherever it is.
func (p *steps) end() {
	p.line.clear()
	fmt.Fprintf(p.out, "%d of %d %s\n", p.done, p.total, p.what)
}

// share is the part of a whole that is done, 0 to 1; nothing is done at once.
func share(done, total int64) float64 {
	if total <= 0 {
		return 1
	}
	return float64(done) / float64(total)
}

// bar draws a share.
func bar(share float64) string {
	const width = 30
	filled := int(share * width)
	return fmt.Sprintf("[%s%s] %3.0f%%", strings.Repeat("=", filled), strings.Repeat(" ", width-filled), share*100)
}
