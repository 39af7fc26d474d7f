package main

import (
	"fmt"
	"io"
	"os"
	"strings"
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
