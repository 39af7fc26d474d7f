package model_test

import (
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// anything hands every ID on to its server.
type anything struct{ *modeltest.Script }

func (anything) Models() []model.Info { return nil }

func (anything) Model(id string) (model.Info, bool) {
	return model.Info{ID: id, Generates: true, Embeds: true, Decides: true}, true
}

func TestLongModelIDs(t *testing.T) {
	models := model.Use(anything{modeltest.New()})
	name := strings.Repeat("m", model.MaxID)
	if _, err := models.Generator(name, nil); err != nil {
		t.Error(err)
	}
	_, err := models.Generator(name+"m", nil)
	if !fault.Is(err, fault.NotFound) || len(err.Error()) > 300 {
		t.Errorf("got %v", err)
	}
	if _, err := models.Embeds(name+"m", nil); !fault.Is(err, fault.NotFound) {
		t.Errorf("got %v", err)
	}
}
