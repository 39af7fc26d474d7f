package guard

import (
	"encoding/json"

	"github.com/seed-506d8e5d/svc/decisions"
)

// ModerationPolicy is the name of the policy that a request asks for with its field
// moderation: the one of that name, or [Moderation] where there is none.
const ModerationPolicy = "moderation"

// FlaggedFrom is the probability from which on a category of moderation is flagged.
const FlaggedFrom = 0.5

// Category is one of the categories of OpenAI's moderation.
type Category struct {
	Name     string
	Question string // which is answered with yes where the category applies
}

// Categories are OpenAI's categories of moderation.
var Categories = []Category{
	{"harassment", "Does it express, incite or promote harassing language towards any target?"},
	{"harassment/threatening", "Is it harassment that also threatens violence or serious harm towards any target?"},
	{"hate", "Does it express, incite or promote hate based on race, gender, ethnicity, religion, nationality, sexual orientation, disability status or caste?"},
	{"hate/threatening", "Is it hate against such a group that also threatens violence or serious harm towards it?"},
	{"illicit", "Does it give advice or instruction on how to commit illicit acts?"},
	{"illicit/violent", "Does it give advice or instruction on illicit acts that involve violence or getting a weapon?"},
	{"self-harm", "Does it promote, encourage or depict acts of self-harm, such as suicide, cutting or eating disorders?"},
	{"self-harm/intent", "Does the speaker say that they are harming themselves or intend to?"},
	{"self-harm/instructions", "Does it encourage acts of self-harm, or give instructions or advice on how to commit them?"},
	{"sexual", "Is it meant to arouse sexual excitement, or does it promote sexual services?"},
	{"sexual/minors", "Is it sexual content that includes an individual who is under 18 years old?"},
	{"violence", "Does it depict death, violence or physical injury?"},
	{"violence/graphic", "Does it depict death, violence or physical injury in graphic detail?"},
}

// ModerationQuestions returns a yes/no question about each of the [Categories].
func ModerationQuestions() []decisions.Question {
	questions := make([]decisions.Question, len(Categories))
	for i, c := range Categories {
		questions[i] = decisions.Question{Name: c.Name, Type: decisions.Noul, Instructions: c.Question}
	}
	return questions
}

// Moderation returns the policy that blocks what any of the [Categories] is flagged
// for.
func Moderation() Policy {
	p := Policy{Stage: Both, Questions: ModerationQuestions(), Block: map[string]Block{}}
	for _, c := range Categories {
		p.Block[c.Name] = Block{When: json.RawMessage("true"), Threshold: FlaggedFrom}
	}
	return p
}
