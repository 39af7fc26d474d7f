package builtin

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestSentence is the most bytes of a sentence; what is longer, such as a
// line of data, is cut.
const longestSentence = 600

// sentences cuts a text into sentences: parts of it without the space around
// them, none empty, which together hold everything that is not space. A line
// ends a sentence unless the next goes on in lower case.
func sentences(text string) []string {
	var found []string
	for start := 0; start < len(text); {
		end := sentenceEnd(text, start)
		if s := strings.TrimSpace(text[start:end]); s != "" {
			found = append(found, s)
		}
		start = end
	}
	return found
}

// sentenceEnd returns where the sentence that begins at start ends.
func sentenceEnd(text string, start int) int {
	lastSpace := -1
	for i := start; i < len(text); {
		if i-start >= longestSentence {
			if lastSpace > start {
				return lastSpace
			}
			return i
		}
		c, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		switch {
		case c == '\n' && endsLine(text, start, next):
			return next
		case c == '。' || c == '！' || c == '？':
			return afterQuotes(text, next)
		case c == '.' || c == '!' || c == '?':
			if end := afterQuotes(text, next); endsHere(text, start, i, end) {
				return end
			}
		case unicode.IsSpace(c):
			lastSpace = next
		}
		i = next
	}
	return len(text)
}

// endsLine reports whether the line break before next ends the sentence.
func endsLine(text string, start, next int) bool {
	c, _ := utf8.DecodeRuneInString(text[next:])
	return !unicode.IsLower(c) || strings.TrimSpace(text[start:next]) == ""
}

// afterQuotes skips the quotes and brackets that close behind a full stop.
func afterQuotes(text string, i int) int {
	for i < len(text) {
		c, size := utf8.DecodeRuneInString(text[i:])
		if !strings.ContainsRune(`"'”’)]».!?`, c) {
			break
		}
		i += size
	}
	return i
}

// endsHere reports whether the mark at i, with what closes behind it up to end,
// ends the sentence.
func endsHere(text string, start, i, end int) bool {
	if end == len(text) {
		return true
	}
	if c, _ := utf8.DecodeRuneInString(text[end:]); !unicode.IsSpace(c) {
		return false
	}
	if text[i] != '.' {
		return true
	}
	word := text[start:i]
	if space := strings.LastIndexFunc(word, unicode.IsSpace); space >= 0 {
		word = word[space+1:]
	}
	word = strings.TrimLeft(word, `("'`)
	return !abbreviations[strings.ToLower(word)] && !isInitial(word) && !isListNumber(text, start, i)
}

// isInitial reports whether a word is a single capital, as in "J. Smith".
func isInitial(word string) bool {
	return len(word) == 1 && 'A' <= word[0] && word[0] <= 'Z' && word != "I"
}

// isListNumber reports whether the sentence so far is only a number, as in
// "1. Open the box".
func isListNumber(text string, start, i int) bool {
	s := strings.TrimSpace(text[start:i])
	return s != "" && len(s) <= 3 && strings.Trim(s, "0123456789") == ""
}

var abbreviations = wordSet(`mr mrs ms dr prof st jr sr vs e.g i.e etc cf ca approx no nr fig inc ltd co corp dept est
	u.s u.k jan feb mar apr jun jul aug sep sept oct nov dec a.m p.m`)

// isQuestion reports whether a sentence asks.
func isQuestion(sentence string) bool {
	return strings.HasSuffix(strings.TrimRight(sentence, `"'”’)]» `), "?") || strings.HasSuffix(sentence, "？")
}

// isHeading reports whether a sentence is a heading of Markdown.
func isHeading(sentence string) bool {
	rest := strings.TrimLeft(sentence, "#")
	return rest != sentence && strings.HasPrefix(rest, " ")
}

// isInstruction reports whether a sentence tells the model to do something.
func isInstruction(sentence string) bool {
	first := ""
	eachWord(sentence, func(start, end int) {
		if word := strings.ToLower(sentence[start:end]); first == "" && word != "please" && word != "now" && word != "then" {
			first = word
		}
	})
	return instructions[first]
}

var instructions = wordSet(`tell say give show explain list write describe summarize summarise answer name find extract
	translate classify look search read use return output respond reply what who whom whose where when why how which
	is are was were do does did can could will would should may convert compute calculate count compare create draft
	generate make provide identify determine check help let book set call send get fetch schedule order add remove`)

// oneLine joins the lines of a sentence.
func oneLine(sentence string) string { return strings.Join(strings.Fields(sentence), " ") }
