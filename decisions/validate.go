package decisions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// question is a validated question with its possible answers in the order they
// were asked: yes and no, the options, or the levels.
type question struct {
	name         string
	kind         Type
	instructions string
	options      []option
	images       []model.Image // of the question alone
	labels       []string      // of a choice; fewer than its options where it is asked in groups
	holds        *option       // of a part of a Labels question: the option that it is about; nil for others
	order        []int         // where the options stood in the question asked; nil: as they stand
}

// option is one possible answer.
type option struct {
	name        string          // of a level: its index
	description json.RawMessage // nil where there is none
}

// parsed is a validated request.
type parsed struct {
	state     string          // a string's text, or the JSON of an object or array
	raw       json.RawMessage // the state as JSON
	reference reference
	examples  string // as the model reads them
	questions []question
	images    []model.Image
}

// invalid returns the error about the value at a path, whose message has the
// form that the interface gives to all validation messages.
func invalid(path, format string, args ...any) error {
	return fault.Invalidf(path, "%s: %s", path, fmt.Sprintf(format, args...))
}

// parse validates everything about a request but its model. Its errors are
// Invalid and name the first fault, in the order state, questions, images.
func parse(req *Request) (*parsed, error) {
	state, err := parseState(req.State)
	if err != nil {
		return nil, err
	}
	most := req.MaxQuestions
	if most == 0 {
		most = MaxQuestions
	}
	questions, err := parseQuestions(req.Questions, most)
	if err != nil {
		return nil, err
	}
	if req.Debias < 0 || req.Debias > MaxOptions {
		return nil, invalid("debias", "must be 1 to %d", MaxOptions)
	}
	if !(req.AbstainAboveError >= 0 && req.AbstainAboveError <= 1) {
		return nil, invalid("abstain_above_error", "must be above 0 and at most 1")
	}
	examples, err := parseExamples(req.Examples, questions)
	if err != nil {
		return nil, err
	}
	var pictures pictures
	images, err := pictures.parse("images", req.Images)
	if err != nil {
		return nil, err
	}
	for i := range questions {
		if questions[i].images, err = pictures.parse("questions/"+questions[i].name+"/images", req.Questions[i].Images); err != nil {
			return nil, err
		}
	}
	return &parsed{state: state, raw: req.State, reference: referenceIn(req.State), examples: examples, questions: questions, images: images}, nil
}

func parseState(raw json.RawMessage) (string, error) {
	if len(raw) == 0 {
		return "", invalid("state", "is required")
	}
	switch shapeOf(raw) {
	case jsonString, jsonObject, jsonArray:
		return plainText(raw), nil
	default:
		return "", invalid("state", "must be a string, an object or an array")
	}
}

func parseQuestions(asked []Question, most int) ([]question, error) {
	if len(asked) < 1 || len(asked) > most {
		return nil, invalid("questions", "must have 1 to %d questions", most)
	}
	names := make(map[string]bool, len(asked))
	questions := make([]question, len(asked))
	for i := range asked {
		q := &asked[i]
		path := "questions/" + q.Name
		if utf8.RuneCountInString(q.Name) > MaxQuestionName {
			return nil, invalid(path, "the name must have at most %d characters", MaxQuestionName)
		}
		if names[q.Name] {
			return nil, invalid(path, "the name is used twice")
		}
		names[q.Name] = true
		var err error
		if questions[i], err = parseQuestion(path, q); err != nil {
			return nil, err
		}
	}
	return questions, nil
}

// parseQuestion returns the question at path, without images.
func parseQuestion(path string, q *Question) (question, error) {
	options, err := parseCriteria(path, q)
	return question{name: q.Name, kind: q.Type, instructions: q.Instructions, options: options, labels: model.Letters}, err
}

// parseCriteria returns the possible answers to the question at path.
func parseCriteria(path string, q *Question) ([]option, error) {
	want, reason := jsonObject, "must be an object"
	switch q.Type {
	case Noul, Choice, Labels:
	case Score:
		want, reason = jsonArray, "must be an array"
	case "":
		return nil, invalid(path, "must have required property 'type'")
	default:
		return nil, invalid(path+"/type", "must be one of noul, choice, score")
	}
	shape := jsonNull
	if len(q.Criteria) > 0 {
		shape = shapeOf(q.Criteria)
	}
	switch {
	case shape == jsonNull && q.Type == Noul:
		return yesOrNo(), nil
	case shape == jsonNull:
		return nil, invalid(path, "must have required property 'criteria'")
	case shape != want:
		return nil, invalid(path+"/criteria", "%s", reason)
	}
	switch q.Type {
	case Noul:
		return parseNoul(path+"/criteria", q.Criteria)
	case Choice:
		return parseOptions(path+"/criteria", q.Criteria, MinOptions)
	case Labels:
		return parseOptions(path+"/criteria", q.Criteria, 1)
	default:
		return parseLevels(path+"/criteria", q.Criteria)
	}
}

func parseNoul(path string, criteria json.RawMessage) ([]option, error) {
	const keys = 2
	members, err := parseMembers(path, criteria, keys)
	if err != nil {
		return nil, err
	}
	options := yesOrNo()
	for _, m := range members {
		switch m.name {
		case "true":
			options[0].description = m.description
		case "false":
			options[1].description = m.description
		default:
			return nil, invalid(path+"/"+m.name, "must be one of true, false")
		}
	}
	return options, nil
}

func yesOrNo() []option { return []option{{name: "Yes"}, {name: "No"}} }

// parseOptions reads at least least named options.
func parseOptions(path string, criteria json.RawMessage, least int) ([]option, error) {
	options, err := parseMembers(path, criteria, MaxOptions)
	if err != nil {
		return nil, err
	}
	if len(options) < least || len(options) > MaxOptions {
		return nil, invalid(path, "must have %d to %d options", least, MaxOptions)
	}
	return options, nil
}

// parseMembers reads a valid object from names to descriptions in the order it
// is written, and stops after one member more than most. A description that is
// null is none.
func parseMembers(path string, object json.RawMessage, most int) (members []option, err error) {
	names := make(map[string]bool)
	gjson.ParseBytes(object).ForEach(func(key, value gjson.Result) bool {
		m := option{name: nameOf(key)}
		if names[m.name] {
			err = invalid(path+"/"+m.name, "the name is used twice")
			return false
		}
		names[m.name] = true
		m.description, err = parseDescription(path, m.name, value)
		members = append(members, m)
		return err == nil && len(members) <= most
	})
	return members, err
}

// nameOf returns the name of a member as package json reads it, which differs for
// what is no Unicode.
func nameOf(key gjson.Result) (name string) {
	if strings.IndexByte(key.Raw, '\\') < 0 && utf8.ValidString(key.Raw) {
		return key.Str
	}
	_ = json.Unmarshal([]byte(key.Raw), &name) // which is valid
	return name
}

// parseDescription reads a description, nil where it is null.
func parseDescription(path, name string, value gjson.Result) (json.RawMessage, error) {
	description := json.RawMessage(value.Raw)
	switch shapeOfValid(description) {
	case jsonString, jsonObject, jsonArray:
		return description, nil
	case jsonNull:
		return nil, nil
	}
	return nil, invalid(path+"/"+name, "must be a string, an object, an array or null")
}

// parseLevels reads a valid array of descriptions.
func parseLevels(path string, criteria json.RawMessage) (levels []option, err error) {
	gjson.ParseBytes(criteria).ForEach(func(_, value gjson.Result) bool {
		level := option{name: strconv.Itoa(len(levels))}
		level.description, err = parseDescription(path, level.name, value)
		levels = append(levels, level)
		return err == nil && len(levels) <= MaxLevels
	})
	if err != nil {
		return nil, err
	}
	if len(levels) < MinLevels || len(levels) > MaxLevels {
		return nil, invalid(path, "must have %d to %d levels", MinLevels, MaxLevels)
	}
	return levels, nil
}

// shape is what kind of JSON value a text is.
type shape uint8

const (
	jsonBad   shape = iota // not JSON
	jsonOther              // a number, true or false
	jsonNull
	jsonString
	jsonObject
	jsonArray
)

func shapeOf(raw json.RawMessage) shape {
	if !json.Valid(raw) {
		return jsonBad
	}
	return shapeOfValid(raw)
}

func shapeOfValid(raw json.RawMessage) shape {
	switch bytes.TrimLeft(raw, " \t\r\n")[0] {
	case '"':
		return jsonString
	case '{':
		return jsonObject
	case '[':
		return jsonArray
	case 'n':
		return jsonNull
	}
	return jsonOther
}

// plainText returns valid JSON as a model reads it: the text of a string, and
// anything else as compact JSON, whose letters are letters and no escapes. What is
// absent has no text.
func plainText(raw json.RawMessage) string {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(jsonout.Plain(raw))
}
