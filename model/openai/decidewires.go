package openai

import (
	"encoding/base64"
	"encoding/json"
	"strconv"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/model"
)

// The wire of /v1/systemone.

func emptySystemOne(w *jsonout.Writer, name string) {
	w.Object()
	w.Name("model").String(name)
	w.Name("state").String("")
	w.Name("questions").Object()
	w.EndObject()
	w.EndObject()
}

// sayableSystemOne: images belong to all questions of a request there.
func sayableSystemOne(q *model.DecideQuestion) bool { return len(q.Images) == 0 }

func writeSystemOne(w *jsonout.Writer, name string, req *model.DecideRequest) {
	w.Object()
	w.Name("model").String(name)
	w.Name("state").Raw(req.State)
	if len(req.Images) > 0 {
		w.Name("images").Array()
		for _, image := range req.Images {
			w.Object()
			w.Name("mediaType").String(image.MediaType)
			w.Name("base64").String(base64.StdEncoding.EncodeToString(image.Data))
			w.EndObject()
		}
		w.EndArray()
	}
	w.Name("questions").Object()
	for i := range req.Questions {
		q := &req.Questions[i]
		w.Name(q.Name).Object()
		w.Name("type").String(string(q.Kind))
		w.StringMember("instructions", q.Instructions)
		writeCriteria(w, q)
		w.EndObject()
	}
	w.EndObject()
	w.EndObject()
}

func writeCriteria(w *jsonout.Writer, q *model.DecideQuestion) {
	switch q.Kind {
	case model.DecideNoul:
		if !described(q.Options) {
			return
		}
		w.Name("criteria").Object()
		for i, name := range []string{"true", "false"} {
			if q.Options[i].Description != nil {
				w.Name(name).Raw(q.Options[i].Description)
			}
		}
		w.EndObject()
	case model.DecideScore:
		w.Name("criteria").Array()
		for _, o := range q.Options {
			w.Raw(orNull(o.Description))
		}
		w.EndArray()
	default:
		w.Name("criteria").Object()
		for _, o := range q.Options {
			w.Name(o.Name).Raw(orNull(o.Description))
		}
		w.EndObject()
	}
}

func described(options []model.DecideOption) bool {
	for _, o := range options {
		if o.Description != nil {
			return true
		}
	}
	return false
}

func orNull(description json.RawMessage) json.RawMessage {
	if description == nil {
		return json.RawMessage("null")
	}
	return description
}

func readSystemOne(answer gjson.Result, questions []model.DecideQuestion) [][]float64 {
	answers := answer.Get("answers").Map()
	all := make([][]float64, len(questions))
	for i := range questions {
		q, a := &questions[i], answers[questions[i].Name]
		switch {
		case a.Get("type").Str != string(q.Kind):
		case q.Kind == model.DecideNoul:
			yes := number(a.Get("noul"))
			all[i] = []float64{yes, 1 - yes}
		default:
			all[i] = byName(a.Get("probabilities"), q.Options)
		}
	}
	return all
}

// The wire of /v1/decisions.

func emptyDecisions(w *jsonout.Writer, name string) {
	w.Object()
	w.Name("model").String(name)
	w.Name("input").String("")
	w.Name("questions").Array()
	w.EndArray()
	w.EndObject()
}

func writeDecisions(w *jsonout.Writer, name string, req *model.DecideRequest) {
	w.Object()
	w.Name("model").String(name)
	writeInput(w.Name("input"), req)
	w.Name("questions").Array()
	for i := range req.Questions {
		writeQuestion(w, &req.Questions[i])
	}
	w.EndArray()
	w.EndObject()
}

// writeInput writes the state: text by itself, and anything else as a message.
func writeInput(w *jsonout.Writer, req *model.DecideRequest) {
	state := gjson.ParseBytes(req.State)
	if state.Type == gjson.String && len(req.Images) == 0 {
		w.Raw(req.State)
		return
	}
	w.Array()
	w.Object()
	w.Name("type").String("message")
	w.Name("role").String("user")
	w.Name("content").Array()
	w.Object()
	switch {
	case state.IsObject():
		w.Name("type").String("input_json")
		w.Name("data").Raw(req.State)
	case state.Type == gjson.String:
		w.Name("type").String("input_text")
		w.Name("text").Raw(req.State)
	default: // of arrays only those of objects could be said otherwise
		w.Name("type").String("input_text")
		w.Name("text").String(state.Raw)
	}
	w.EndObject()
	writeInputImages(w, req.Images)
	w.EndArray()
	w.EndObject()
	w.EndArray()
}

func writeInputImages(w *jsonout.Writer, images []model.Image) {
	for _, image := range images {
		w.Object()
		w.Name("type").String("input_image")
		w.Name("image_url").String("data:" + image.MediaType + ";base64," + base64.StdEncoding.EncodeToString(image.Data))
		w.EndObject()
	}
}

// kindNames are what questions are called there.
var kindNames = map[model.DecideKind]string{model.DecideNoul: "predicate", model.DecideChoice: "choice", model.DecideScore: "score"}

func writeQuestion(w *jsonout.Writer, q *model.DecideQuestion) {
	w.Object()
	w.Name("type").String(kindNames[q.Kind])
	w.Name("name").String(q.Name)
	writeInstructions(w.Name("instructions"), q)
	switch q.Kind {
	case model.DecideChoice:
		w.Name("choices").Array()
		for _, o := range q.Options {
			w.Object()
			w.Name("value").String(o.Name)
			if o.Description != nil {
				w.Name("description").String(inWords(o.Description))
			}
			w.EndObject()
		}
		w.EndArray()
	case model.DecideScore:
		w.Name("levels").Array()
		for _, o := range q.Options {
			w.Object()
			if w.Name("label"); o.Description != nil {
				w.String(inWords(o.Description))
			} else {
				w.String(o.Name)
			}
			w.EndObject()
		}
		w.EndArray()
	}
	w.EndObject()
}

// writeInstructions writes what is asked. What yes and no mean has no place of
// its own there.
func writeInstructions(w *jsonout.Writer, q *model.DecideQuestion) {
	text := q.Instructions
	if text == "" {
		text = "Which answer is right, or fits best?"
		if q.Kind == model.DecideNoul {
			text = "Is it true?"
		}
	}
	if q.Kind == model.DecideNoul {
		for i, name := range []string{"Yes", "No"} {
			if description := q.Options[i].Description; description != nil {
				text += "\n" + name + ": " + inWords(description)
			}
		}
	}
	if len(q.Images) == 0 {
		w.String(text)
		return
	}
	w.Array()
	w.Object()
	w.Name("type").String("input_text")
	w.Name("text").String(text)
	w.EndObject()
	writeInputImages(w, q.Images)
	w.EndArray()
}

// inWords returns a description as text.
func inWords(description json.RawMessage) string {
	if d := gjson.ParseBytes(description); d.Type == gjson.String {
		return d.Str
	}
	var w jsonout.Writer
	w.Raw(description)
	return string(w.Buf)
}

func readDecisions(answer gjson.Result, questions []model.DecideQuestion) [][]float64 {
	all := make([][]float64, len(questions))
	answers := answer.Get("answers").Array()
	if len(answers) != len(questions) {
		return all
	}
	for i, a := range answers {
		q := &questions[i]
		switch {
		case a.Get("type").Str != kindNames[q.Kind]: // a refusal, too
		case q.Kind == model.DecideNoul:
			yes := number(a.Get("probability"))
			all[i] = []float64{yes, 1 - yes}
		default:
			all[i] = inOrder(probabilitiesOf(a.Get("probabilities"), q.Kind), q.Options)
		}
	}
	return all
}

// probabilitiesOf returns the probabilities of a list by the names of the options: those
// of a scale are their indices.
func probabilitiesOf(list gjson.Result, kind model.DecideKind) map[string]float64 {
	named := map[string]float64{}
	for _, entry := range list.Array() {
		name := entry.Get("value").Str
		if kind == model.DecideScore {
			name = strconv.Itoa(int(entry.Get("value").Int()))
		}
		named[name] = number(entry.Get("probability"))
	}
	return named
}
