package httpapi

import (
	"fmt"

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

func (a *API) listModels(c *call) error {
	list := struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
	}{"list", []modelObject{}}
	for _, info := range a.service.Models(c.caller) {
		list.Data = append(list.Data, newModelObject(info))
	}
	return c.json(list)
}

func (a *API) getModel(c *call) error {
	info, err := a.service.Model(c.caller, c.r.PathValue("model"))
	if err != nil {
		return err
	}
	return c.json(newModelObject(info))
}

// sizeText writes a size limit for people.
func sizeText(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
