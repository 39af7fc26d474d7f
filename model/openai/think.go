package openai

import "strings"

// The tags between which some servers leave the reasoning in the text.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

const blanks = " \t\r\n"

// thinkFilter removes the reasoning that an answer's text begins with: blocks
// between <think> and </think>, cut anywhere into pieces, and the blanks around
// them. Tags further on are text. The zero value is at the beginning of an
// answer.
type thinkFilter struct {
	held    string // begins like a tag, or is blank, or in a block the end of it
	inside  bool   // in a block
	removed bool   // a block has been
	through bool   // text has begun: nothing is removed from here on

	kept *strings.Builder // where what is removed goes; nil: nowhere
}

// add returns what may be shown after the next piece of text.
func (f *thinkFilter) add(text string) string {
	if f.through {
		return text
	}
	f.held += text
	for {
		if f.inside {
			i := strings.Index(f.held, thinkClose)
			if i < 0 {
				f.remove(max(0, len(f.held)-len(thinkClose)+1))
				return ""
			}
			f.remove(i)
			f.held = f.held[len(thinkClose):]
			f.inside, f.removed = false, true
		}
		begin := strings.TrimLeft(f.held, blanks)
		if rest, ok := strings.CutPrefix(begin, thinkOpen); ok {
			f.held, f.inside = rest, true
			continue
		}
		if strings.HasPrefix(thinkOpen, begin) {
			return "" // blank, or a tag that has only begun
		}
		return f.release()
	}
}

// remove removes the first n bytes of what is held.
func (f *thinkFilter) remove(n int) {
	if f.kept != nil {
		f.kept.WriteString(f.held[:n])
	}
	f.held = f.held[n:]
}

// blanks returns how many bytes of white space the answer's text consists of so far.
func (f *thinkFilter) blanks() int {
	if f.inside || f.through {
		return 0
	}
	return len(f.held)
}

// end returns what was held back when nothing more comes.
func (f *thinkFilter) end() string {
	if f.inside || f.through {
		return ""
	}
	return f.release()
}

func (f *thinkFilter) release() string {
	text := f.held
	if f.removed {
		text = strings.TrimLeft(text, blanks)
	}
	f.held, f.through = "", true
	return text
}
