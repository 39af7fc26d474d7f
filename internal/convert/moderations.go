package convert

import (
	"encoding/base64"

	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// FromModerationRequest returns what a body of Moderations asks for.
func FromModerationRequest(w *wire.ModerationRequest) *guard.ModerationRequest {
	return &guard.ModerationRequest{Model: w.Model, Inputs: mapped(w.Input, func(in *wire.ModerationInput) guard.ModerationInput {
		return guard.ModerationInput{Text: in.Text, Images: mapped(in.Images, func(image *wire.DataURL) decisions.Image {
			return decisions.Image{MediaType: image.MIMEType, Base64: base64.StdEncoding.EncodeToString(image.Data)}
		})}
	})}
}

// ToModerationRequest returns a request as it is sent. The error is that of an image that
// is no base64.
func ToModerationRequest(r *guard.ModerationRequest) (*wire.ModerationRequest, error) {
	w := &wire.ModerationRequest{Model: r.Model}
	for i := range r.Inputs {
		in := wire.ModerationInput{Text: r.Inputs[i].Text}
		for _, image := range r.Inputs[i].Images {
			data, err := base64.StdEncoding.DecodeString(image.Base64)
			if err != nil {
				return nil, err
			}
			in.Images = append(in.Images, wire.DataURL{MIMEType: image.MediaType, Data: data})
		}
		w.Input = append(w.Input, in)
	}
	return w, nil
}

// ToModerations returns results as they are answered.
func ToModerations(r *guard.ModerationResult) wire.Moderations {
	return wire.Moderations{ID: r.ID, Model: r.Model, Results: mapped(r.Results, toModerationResult)}
}

func toModerationResult(f *guard.Flags) wire.ModerationResult {
	w := wire.ModerationResult{Flagged: f.Any(), Categories: map[string]bool{}, CategoryScores: map[string]float64{}, AppliedInputTypes: map[string][]string{}}
	types := []string{}
	if f.Text {
		types = append(types, "text")
	}
	if f.Images {
		types = append(types, "image")
	}
	for i, c := range guard.Categories {
		w.Categories[c.Name], w.CategoryScores[c.Name], w.AppliedInputTypes[c.Name] = f.Flagged(i), f.Scores[i], types
	}
	return w
}

// FromModerations returns what an answer says.
func FromModerations(w *wire.Moderations) *guard.ModerationResult {
	r := &guard.ModerationResult{ID: w.ID, Model: w.Model}
	for i := range w.Results {
		var f guard.Flags
		for _, c := range guard.Categories {
			f.Scores = append(f.Scores, w.Results[i].CategoryScores[c.Name])
			for _, kind := range w.Results[i].AppliedInputTypes[c.Name] {
				f.Text, f.Images = f.Text || kind == "text", f.Images || kind == "image"
			}
		}
		r.Results = append(r.Results, f)
	}
	return r
}
