package decisions

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
)

// optionsJSON returns criteria with n options.
func optionsJSON(n int) json.RawMessage {
	members := make([]string, n)
	for i := range members {
		members[i] = fmt.Sprintf(`"option %d":null`, i)
	}
	return json.RawMessage("{" + strings.Join(members, ",") + "}")
}

// levelsJSON returns criteria with n levels.
func levelsJSON(n int) json.RawMessage {
	levels := make([]string, n)
	for i := range levels {
		levels[i] = fmt.Sprintf(`"level %d"`, i)
	}
	return json.RawMessage("[" + strings.Join(levels, ",") + "]")
}

// noulQuestions returns n questions.
func noulQuestions(n int) []Question {
	questions := make([]Question, n)
	for i := range questions {
		questions[i] = Question{Name: fmt.Sprintf("q%d", i), Type: Noul, Instructions: fmt.Sprintf("Is it %d?", i)}
	}
	return questions
}

func one(kind Type, criteria string) []Question {
	return []Question{{Name: "q", Type: kind, Instructions: "Which?", Criteria: json.RawMessage(criteria)}}
}

func TestParseRefuses(t *testing.T) {
	long := strings.Repeat("é", MaxQuestionName+1)
	for _, c := range []struct {
		name      string
		state     string
		questions []Question
		path      string
		message   string
	}{
		{"no state", "", noulQuestions(1), "state", "state: is required"},
		{"null state", "null", noulQuestions(1), "state", "state: must be a string, an object or an array"},
		{"number as state", "7", noulQuestions(1), "state", "state: must be a string, an object or an array"},
		{"no JSON as state", "{", noulQuestions(1), "state", "state: must be a string, an object or an array"},
		{"no questions", `""`, nil, "questions", "questions: must have 1 to 16 questions"},
		{"17 questions", `""`, noulQuestions(17), "questions", "questions: must have 1 to 16 questions"},
		{"long name", `""`, []Question{{Name: long, Type: Noul}}, "questions/" + long, "questions/" + long + ": the name must have at most 100 characters"},
		{"name twice", `""`, []Question{{Name: "a", Type: Noul, Instructions: "Is it?"}, {Name: "a", Type: Noul}}, "questions/a", "questions/a: the name is used twice"},
		{"no type", `""`, one("", ""), "questions/q", "questions/q: must have required property 'type'"},
		{"unknown type", `""`, one("bool", ""), "questions/q/type", "questions/q/type: must be one of noul, choice, score"},

		{"noul criteria a string", `""`, one(Noul, `"x"`), "questions/q/criteria", "questions/q/criteria: must be an object"},
		{"noul criteria of another name", `""`, one(Noul, `{"yes":"x"}`), "questions/q/criteria/yes", "questions/q/criteria/yes: must be one of true, false"},
		{"noul criteria a number", `""`, one(Noul, `{"true":1}`), "questions/q/criteria/true", "questions/q/criteria/true: must be a string, an object, an array or null"},
		{"noul criteria twice", `""`, one(Noul, `{"true":"a","true":"b"}`), "questions/q/criteria/true", "questions/q/criteria/true: the name is used twice"},

		{"no choice criteria", `""`, one(Choice, ""), "questions/q", "questions/q: must have required property 'criteria'"},
		{"null choice criteria", `""`, one(Choice, " null "), "questions/q", "questions/q: must have required property 'criteria'"},
		{"choice criteria an array", `""`, one(Choice, `["a","b"]`), "questions/q/criteria", "questions/q/criteria: must be an object"},
		{"choice criteria no JSON", `""`, one(Choice, `{"a":null,"b":}`), "questions/q/criteria", "questions/q/criteria: must be an object"},
		{"1 option", `""`, one(Choice, `{"a":null}`), "questions/q/criteria", "questions/q/criteria: must have 2 to 255 options"},
		{"256 options", `""`, one(Choice, string(optionsJSON(256))), "questions/q/criteria", "questions/q/criteria: must have 2 to 255 options"},
		{"option twice", `""`, one(Choice, `{"a":null,"a":null}`), "questions/q/criteria/a", "questions/q/criteria/a: the name is used twice"},
		{"option a number", `""`, one(Choice, `{"a":null,"b":2}`), "questions/q/criteria/b", "questions/q/criteria/b: must be a string, an object, an array or null"},

		{"no score criteria", `""`, one(Score, ""), "questions/q", "questions/q: must have required property 'criteria'"},
		{"score criteria an object", `""`, one(Score, `{"0":"a","1":"b"}`), "questions/q/criteria", "questions/q/criteria: must be an array"},
		{"1 level", `""`, one(Score, `["a"]`), "questions/q/criteria", "questions/q/criteria: must have 2 to 10 levels"},
		{"11 levels", `""`, one(Score, string(levelsJSON(11))), "questions/q/criteria", "questions/q/criteria: must have 2 to 10 levels"},
		{"level a number", `""`, one(Score, `[1,2]`), "questions/q/criteria/0", "questions/q/criteria/0: must be a string, an object, an array or null"},
		{"neither criteria nor instructions", `""`, []Question{{Name: "q", Type: Score}}, "questions/q", "questions/q: must have required property 'criteria'"},
		{"second question at fault", `""`, append(noulQuestions(1), one(Score, "")...), "questions/q", "questions/q: must have required property 'criteria'"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parse(&Request{State: json.RawMessage(c.state), Questions: c.questions})
			want := fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Param: c.path, Message: c.message}
			if err == nil || *fault.From(err) != want {
				t.Errorf("got  %+v\nwant %+v", err, want)
			}
		})
	}
}

func TestParseAccepts(t *testing.T) {
	for _, c := range []struct {
		name      string
		state     string
		questions []Question
	}{
		{"string", `"x"`, noulQuestions(1)},
		{"object with spaces", " {} ", noulQuestions(1)},
		{"array", "[1]", noulQuestions(1)},
		{"16 questions", `""`, noulQuestions(16)},
		{"100 characters of two bytes", `""`, []Question{{Name: strings.Repeat("é", MaxQuestionName), Type: Noul, Instructions: "Is it?"}}},
		{"noul without descriptions", `""`, one(Noul, `{}`)},
		{"noul null", `""`, one(Noul, `null`)},
		{"no instructions", `""`, []Question{{Name: "q", Type: Noul}}},
		{"level null", `""`, one(Score, `["a",null]`)},
		{"noul with one", `""`, one(Noul, `{"false":{"like":["this"]}}`)},
		{"2 options", `""`, one(Choice, `{"a":null,"b":"text"}`)},
		{"255 options", `""`, one(Choice, string(optionsJSON(255)))},
		{"options of all shapes", `""`, one(Choice, `{"a":{"x":1},"b":[1],"c":null,"d":"s"}`)},
		{"2 levels", `""`, one(Score, `["a",{"b":1}]`)},
		{"10 levels", `""`, one(Score, string(levelsJSON(10)))},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := parse(&Request{State: json.RawMessage(c.state), Questions: c.questions}); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzParseCriteria(f *testing.F) {
	for _, kind := range []Type{Noul, Choice, Score, "", "x"} {
		for _, criteria := range []string{"", "null", `{"true":"a"}`, `{"a":null,"b":{"c":[1]}}`, `["a",["b"],{}]`, `{"a":1`, `[[`, `{"a":null,"a":null}`, " [ ] "} {
			f.Add(string(kind), criteria)
		}
	}
	f.Fuzz(func(t *testing.T, kind, criteria string) {
		options, err := parseCriteria("questions/q", &Question{Name: "q", Type: Type(kind), Criteria: json.RawMessage(criteria)})
		if err != nil {
			e := fault.From(err)
			if e.Kind != fault.Invalid || !strings.HasPrefix(e.Message, e.Param+": ") || !strings.HasPrefix(e.Param, "questions/q") {
				t.Fatalf("%+v", e)
			}
			return
		}
		if len(options) < 2 || len(options) > MaxOptions {
			t.Fatalf("%d options", len(options))
		}
		names := make(map[string]bool)
		for _, o := range options {
			names[o.name] = true
			if o.description != nil && !json.Valid(o.description) {
				t.Fatalf("the description %q is no JSON", o.description)
			}
		}
		if len(names) != len(options) {
			t.Fatalf("%d names for %d options", len(names), len(options))
		}
	})
}
