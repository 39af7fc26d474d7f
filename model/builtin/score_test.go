package builtin

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

// decision returns a request as package decisions makes them: the options stand
// under the question with their labels.
func decision(state, question string, options ...string) *model.ScoreRequest {
	req := &model.ScoreRequest{
		Model:        model.DefaultDecider,
		Instructions: "Answer with the letter of one option.",
		State:        []model.Part{model.Text("\"\"\"\n" + state + "\n\"\"\"\n\n")},
		Question:     "Reply with the label only.\n\n" + question + "\n",
	}
	for i, text := range options {
		label := string(rune('A' + i))
		if verdict(text) == 0 {
			req.Question += label + ": "
		}
		req.Question += text + "\n"
		req.Options = append(req.Options, model.Option{Label: label, Texts: []string{text}})
	}
	return req
}

func score(t testing.TB, req *model.ScoreRequest) []float64 {
	t.Helper()
	scores, err := New().Score(t.Context(), req)
	if err != nil {
		t.Fatalf("Score: %v", err)
	}
	return scores.Probabilities
}

func TestChoice(t *testing.T) {
	departments := []string{"billing: Questions about invoices, charges and refunds", "technical: Errors, crashes and login problems", "sales: Buying, pricing and upgrades"}
	names := []string{"billing", "technical_support", "sales"}
	animals := []string{"cat", "dog", "horse"}
	levels := []string{"angry", "annoyed", "neutral", "satisfied", "happy"}
	urgency := []string{"not urgent", "can wait until tomorrow", "urgent, needs action today", "critical emergency"}
	tests := []struct {
		state, question string
		options         []string
		want            string
	}{
		{"I was charged twice for my subscription this month.", "Which department?", departments, "billing"},
		{"The app crashes with an error when I log in.", "Which department?", departments, "technical"},
		{"How much would an enterprise plan with 50 seats cost? We want to buy.", "Which department?", departments, "sales"},
		{"Please send me the invoice for March.", "Which team should handle this?", names, "billing"},
		{"I forgot my password and the website shows an error page.", "Which team should handle this?", names, "technical"},
		{"We are interested in a demo and a discount for a bigger plan.", "Which team should handle this?", names, "sales"},
		{"My cat sleeps all day.", "Which animal?", animals, "cat"},
		{"We rode horses on the beach.", "Which animal?", animals, "horse"},
		{"This is outrageous, I hate your terrible service!", "How does the customer feel?", levels, "angry"},
		{"Thank you so much, I love it, it is wonderful!", "How does the customer feel?", levels, "happy"},
		{"The meeting is on Tuesday in room four.", "How does the customer feel?", levels, "neutral"},
		{"It was a good experience.", "How does the customer feel?", levels, "satisfied"},
		{"The server is down, this is an emergency, please help immediately!", "How urgent is it?", urgency, "critical"},
		{"The team scored a late goal and won the match.", "What is it about?", []string{"sports", "politics", "science"}, "sports"},
		{"Parliament will vote on the new law next week.", "What is it about?", []string{"sports", "politics", "science"}, "politics"},
	}
	for _, tt := range tests {
		t.Run(tt.state, func(t *testing.T) {
			p := score(t, decision(tt.state, tt.question, tt.options...))
			best := slices.Index(p, slices.Max(p))
			if !strings.HasPrefix(tt.options[best], tt.want) {
				t.Errorf("got %.3f for %q, want %q", p, tt.options, tt.want)
			}
		})
	}
}

func TestYesNo(t *testing.T) {
	broken := "The package arrived broken and I want my money back."
	happy := "I am very happy with the fast delivery, thank you!"
	tests := []struct {
		state, question string
		yes             bool
	}{
		{broken, "Is the customer unhappy?", true},
		{broken, "Is the customer happy?", false},
		{broken, "Does the customer want a refund?", true},
		{broken, "Is the product damaged?", true},
		{broken, "Is this about politics?", false},
		{happy, "Is the customer unhappy?", false},
		{happy, "Is the customer satisfied?", true},
		{happy, "Does the customer want a refund?", false},
		{"I do not want a refund.", "Does the customer want a refund?", false},
		{"The door is open.", "Is the door open?", true},
		{"The door is not open.", "Is the door open?", false},
		{"The door is blue.", "Does the text mention a window?", false},
		{"Please help immediately, the server is down!", "Is this urgent?", true},
		{"Whenever you have time, no hurry.", "Is this urgent?", false},
		{"You won a free prize! Click to claim your lottery money.", "Is this spam?", true},
		{"See you at the meeting on Monday.", "Is this spam?", false},
	}
	for _, tt := range tests {
		t.Run(tt.state+" "+tt.question, func(t *testing.T) {
			for _, options := range [][]string{{"yes", "no"}, {"no", "yes"}, {"true", "false"}} {
				p := score(t, decision(tt.state, tt.question, options...))
				yes := p[0]
				if options[0] == "no" {
					yes = p[1]
				}
				if (yes > 0.5) != tt.yes {
					t.Errorf("got %.3f for yes", yes)
				}
			}
		})
	}
}

// TestNothingSaidIsNearChance asks what a text says nothing of: that is rather not so, and
// less sure than where a text says a part of it.
func TestNothingSaidIsNearChance(t *testing.T) {
	is := is.New(t)
	for _, state := range []string{"Zxq wvut.", "猫が寝ている。", "42", "Parking is free."} {
		p := score(t, decision(state, "Does the office open early?", "yes", "no"))
		is.True(p[0] > 0.4 && p[0] < 0.5)
		is.True(p[0] > score(t, decision("The office is closed.", "Does the office open early?", "yes", "no"))[0])
	}
}

func TestDescriptionsOfYesAndNoCount(t *testing.T) {
	is := is.New(t)
	options := []string{"yes: The writer mentions an animal such as a dog or a cat.", "no: The writer speaks of plants, trees and flowers only."}
	is.True(score(t, decision("My dog ate the cake.", "Allowed?", options...))[0] > 0.6)
	is.True(score(t, decision("The flowers and trees are in bloom.", "Allowed?", options...))[0] < 0.4)
}

func TestProbabilitiesAreProper(t *testing.T) {
	states := map[string]string{
		"empty": "", "short": "The invoice is wrong.",
		"strong": strings.Repeat("invoice invoice refund charge angry terrible. ", 500),
	}
	for name, state := range states {
		t.Run(name, func(t *testing.T) {
			is := is.New(t)
			sum := 0.0
			for _, p := range score(t, decision(state, "Which?", "billing: invoice refund charge", "sales", "angry", "happy")) {
				is.True(p > 0 && p < 1)
				sum += p
			}
			is.True(math.Abs(sum-1) < 1e-12)
		})
	}
}

func TestOptionOrderDoesNotMatter(t *testing.T) {
	options := []string{"billing: invoices", "technical: errors", "sales: plans", "angry customer", "happy customer"}
	state := "The invoice has an error and I am unhappy with my plan."
	numbers := func(order []int) map[string]float64 {
		var texts []string
		for _, i := range order {
			texts = append(texts, options[i])
		}
		byText := map[string]float64{}
		for i, p := range score(t, decision(state, "Which is it?", texts...)) {
			byText[texts[i]] = p
		}
		return byText
	}
	want := numbers([]int{0, 1, 2, 3, 4})
	for _, order := range [][]int{{4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}, {1, 2, 3, 4, 0}} {
		is.New(t).Equal(numbers(order), want)
	}
}

func TestGroupsWeighWhatTheirMembersWeigh(t *testing.T) {
	is := is.New(t)
	members := []string{"billing", "technical", "sales", "shipping"}
	req := decision("My invoice shows the wrong price.", "Which?", members...)
	single := score(t, req)
	req.Options = []model.Option{{Label: "A", Texts: members[:2]}, {Label: "B", Texts: members[2:]}}
	group := score(t, req)
	is.True(math.Abs(group[0]-single[0]-single[1]) < 1e-9)
	is.True(math.Abs(group[1]-single[2]-single[3]) < 1e-9)
}

func TestMoreEvidenceIsSharper(t *testing.T) {
	is := is.New(t)
	options := []string{"billing: invoices and charges", "technical: errors"}
	weak := score(t, decision("There is a charge.", "Which?", options...))
	strong := score(t, decision("There is a charge on my invoice; billing must explain the charges.", "Which?", options...))
	is.True(strong[0] > weak[0])
}

func TestScoreCountsTokens(t *testing.T) {
	is := is.New(t)
	req := decision("The door is open.", "Open?", "yes", "no")
	req.State = append(req.State, picture(t, 4, 4, red))
	scores, err := New().Score(t.Context(), req)
	is.NoErr(err)
	is.Equal(scores.StateTokens, countTokens(string(req.State[0].(model.Text)))+64+countTokens(req.Instructions))
	is.Equal(scores.QuestionTokens, countTokens(req.Question))
	is.Equal(scores.Hidden, 0.0)
}

// TestQuestionsOfADecisionShareItsState reads a state once for them all, and images of
// one question for that one alone.
func TestQuestionsOfADecisionShareItsState(t *testing.T) {
	is := is.New(t)
	req := decision("The invoice is wrong.", "Which?", "billing: invoice", "sales: offer")
	req.Memo = new(model.Memo)
	want := score(t, req)
	req.State = []model.Part{model.Text("never read")}
	is.Equal(score(t, req), want)
	req.Images = []model.Image{picture(t, 4, 4, red)}
	is.True(score(t, req)[0] != want[0])
	is.Equal(len(score(t, req)), 2)
}

// TestTies has a text that says nothing about the options: no place in the list is
// preferred, the numbers are near chance, and the same question gets the same
// answer in any order.
func TestTies(t *testing.T) {
	options := []string{"walrus", "teapot", "granite", "violin"}
	first := 0
	const questions = 200
	for i := range questions {
		ask := func(texts []string) map[string]float64 {
			req := &model.ScoreRequest{State: []model.Part{model.Text("Lorem ipsum dolor sit amet.")}, Question: fmt.Sprintf("Which one, %d?", i)}
			for n, text := range texts {
				req.Options = append(req.Options, model.Option{Label: string(rune('A' + n)), Texts: []string{text}})
			}
			scores, err := New().Score(t.Context(), req)
			if err != nil {
				t.Fatal(err)
			}
			byText := map[string]float64{}
			for n, text := range texts {
				byText[text] = scores.Probabilities[n]
			}
			return byText
		}
		p := ask(options)
		best := options[0]
		for _, o := range options {
			if p[o] > p[best] {
				best = o
			}
			if math.Abs(p[o]-0.25) > 0.02 {
				t.Fatalf("%s has %v: that is not near chance", o, p[o])
			}
		}
		if best == options[0] {
			first++
		}
		turned := slices.Clone(options)
		slices.Reverse(turned)
		if again := ask(turned); !maps.Equal(again, p) {
			t.Fatalf("got %v, and in another order %v", p, again)
		}
	}
	if first < questions/8 || first > questions/2 {
		t.Errorf("the first option won %d of %d ties", first, questions)
	}
}
