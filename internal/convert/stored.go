package convert

import (
	"time"

	"github.com/seed-506d8e5d/svc/conversations"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/wire"
	"github.com/seed-506d8e5d/svc/model"
)

// ToConversation returns a conversation as it is answered.
func ToConversation(c *conversations.Conversation) wire.Conversation {
	return wire.Conversation{ID: c.ID, Object: "conversation", CreatedAt: c.CreatedAt, Metadata: tags(c.Metadata)}
}

// FromConversation returns what an answer says.
func FromConversation(w *wire.Conversation) conversations.Conversation {
	return conversations.Conversation{ID: w.ID, CreatedAt: w.CreatedAt, Metadata: w.Metadata}
}

// ToFile returns a file as it is answered.
func ToFile(f *files.File) wire.File {
	return wire.File{
		ID: f.ID, Object: "file", Bytes: f.Bytes, CreatedAt: f.CreatedAt, ExpiresAt: optional(f.ExpiresAt),
		Filename: f.Filename, Purpose: f.Purpose, Status: string(f.Status), StatusDetails: f.Details(),
	}
}

// FromFile returns what an answer says. It does not say of which type a file is, nor
// why it has no text but in words.
func FromFile(w *wire.File) files.File {
	return files.File{ID: w.ID, Bytes: w.Bytes, CreatedAt: w.CreatedAt, ExpiresAt: value(w.ExpiresAt), Filename: w.Filename, Purpose: w.Purpose, Status: files.Status(w.Status)}
}

// ToModel returns a model as it is answered.
func ToModel(m *model.Info) wire.Model {
	return wire.Model{ID: m.ID, Object: "model", Created: m.Created, OwnedBy: m.OwnedBy}
}

// FromModel returns what an answer says: not what the model can do.
func FromModel(w *wire.Model) model.Info {
	return model.Info{ID: w.ID, Created: w.Created, OwnedBy: w.OwnedBy}
}

// ToModelList returns models as they are answered.
func ToModelList(models []model.Info) wire.ModelList {
	list := wire.ModelList{Object: "list", Data: []wire.Model{}, Models: []wire.NamedModel{}}
	for i := range models {
		list.Data = append(list.Data, ToModel(&models[i]))
		list.Models = append(list.Models, toNamedModel(&models[i]))
	}
	return list
}

func toNamedModel(info *model.Info) wire.NamedModel {
	m := wire.NamedModel{Name: info.ID, ReleaseDate: time.Unix(info.Created, 0).UTC().Format(time.DateOnly)}
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
