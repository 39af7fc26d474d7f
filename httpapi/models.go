package httpapi

import (
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// modelObject is a model as the OpenAI API lists it.
type modelObject struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func newModelObject(info model.Info) modelObject {
	return modelObject{ID: info.ID, Object: "model", Created: info.Created, OwnedBy: info.OwnedBy}
}

// namedModel is a model as clients of Decisions list it.
type namedModel struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	ReleaseDate string `json:"release_date"`
}

func newNamedModel(info model.Info) namedModel {
	m := namedModel{Name: info.ID, ReleaseDate: time.Unix(info.Created, 0).UTC().Format(time.DateOnly)}
	switch {
	case info.Decides && info.Generates:
		m.Description = "Decides and generates text."
	case info.Decides:
		m.Description = "Decides: answers typed questions about a state with probabilities."
	case info.Embeds && !info.Generates:
		m.Description = "Embeds text."
	default:
		m.Description = "Generates text."
	}
	return m
}

// listModels answers with one list for each kind of client.
func (a *API) listModels(c *call) error {
	list := struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
		Models []namedModel  `json:"models"`
	}{"list", []modelObject{}, []namedModel{}}
	models, err := a.service.Models(c.ctx(), c.caller)
	if err != nil {
		return err
	}
	for _, info := range models {
		list.Data = append(list.Data, newModelObject(info))
		list.Models = append(list.Models, newNamedModel(info))
	}
	return c.json(list)
}

func (a *API) getModel(c *call) error {
	info, err := a.service.Model(c.ctx(), c.caller, c.r.PathValue("model"))
	if err != nil {
		return err
	}
	return c.json(newModelObject(info))
}
