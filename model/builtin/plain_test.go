package builtin

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
)

// plainItem is a question of testdata that anybody can answer from its state.
type plainItem struct {
	state, question string
	options         []string
	right           int
}

// plainItems reads a file of lines "state | question | yes" or "… | *right / wrong".
func plainItems(t *testing.T, name string) (items []plainItem) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		fields := strings.Split(strings.TrimSpace(line), " | ")
		item := plainItem{state: fields[0], question: fields[1], options: []string{"Yes", "No"}}
		if fields[2] == "no" {
			item.right = 1
		} else if fields[2] != "yes" {
			item.options = strings.Split(fields[2], " / ")
			item.right = slices.IndexFunc(item.options, func(o string) bool { return o[0] == '*' })
			item.options[item.right] = item.options[item.right][1:]
		}
		items = append(items, item)
	}
	return items
}

// stands reports whether the words of an item stand in its state: those of the question,
// or for a choice those of the option that was chosen.
func (i *plainItem) stands(chosen int) bool {
	text := i.question
	if len(i.options) > 2 || i.options[0] != "Yes" {
		text = i.options[chosen]
	}
	st := stems{}
	state := st.list(i.state)
	for _, term := range st.list(text) {
		if !slices.Contains(state, term) && !in("subject", term) {
			return false
		}
	}
	return true
}

// TestPlainQuestions holds how sure the model is against how often it is right. The items
// of heldout.txt were written together with those of plain.txt, which the constants of
// judge.go were chosen on, drawn by lot and not looked at for that.
func TestPlainQuestions(t *testing.T) {
	for _, name := range []string{"plain.txt", "heldout.txt"} {
		t.Run(name, func(t *testing.T) {
			var bins [5]struct{ n, confidence, right float64 } // from 0.5 to 1, and below
			right := 0
			items := plainItems(t, name)
			for _, item := range items {
				p := score(t, decision(item.state, item.question, item.options...))
				chosen := slices.Index(p, slices.Max(p))
				bin := &bins[min(max(int((p[chosen]-0.5)*10), 0), 4)]
				bin.n++
				bin.confidence += p[chosen]
				if chosen == item.right {
					bin.right++
					right++
				}
				if testing.Verbose() && name == "plain.txt" {
					t.Logf("%v %.2f %s | %s | %s", chosen == item.right, p[chosen], item.state, item.question, item.options[chosen])
				}
				if p[chosen] > 0.85 && !item.stands(chosen) {
					t.Errorf("%.2f for %q of %q, %q: its words do not stand there", p[chosen], item.options[chosen], item.state, item.question)
				}
			}
			ece := 0.0
			for _, bin := range bins {
				ece += math.Abs(bin.confidence-bin.right) / float64(len(items))
				if bin.n > 0 {
					t.Logf("%3.0f answers with a confidence of %.2f: %.2f right", bin.n, bin.confidence/bin.n, bin.right/bin.n)
				}
			}
			t.Logf("%d of %d right, calibration error %.3f", right, len(items), ece)
			if ece > 0.08 {
				t.Errorf("the calibration error is %.3f", ece)
			}
		})
	}
}
