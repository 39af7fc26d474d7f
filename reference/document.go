package reference

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// document is what is shown of an OpenAPI document.
type document struct {
	Info struct {
		Title       string `json:"title"`
		Description string `json:"description"`
	} `json:"info"`
	Tags []struct {
		Name string `json:"name"`
	} `json:"tags"`
	Paths      members[members[json.RawMessage]] `json:"paths"`
	Components struct {
		Schemas    members[schema]       `json:"schemas"`
		Parameters map[string]*parameter `json:"parameters"`
	} `json:"components"`
}

// members are those of a JSON object, in their order.
type members[T any] []member[T]

type member[T any] struct {
	Name  string
	Value T
}

// UnmarshalJSON implements json.Unmarshaler.
func (m *members[T]) UnmarshalJSON(data []byte) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return fmt.Errorf("reference: %.20s is no object: %w", data, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		one := member[T]{Name: name.(string)} // the decoder accepts no other name
		if err := d.Decode(&one.Value); err != nil {
			return err
		}
		*m = append(*m, one)
	}
	return nil
}

// get returns the member with a name.
func (m members[T]) get(name string) (value T, ok bool) {
	for _, one := range m {
		if one.Name == name {
			return one.Value, true
		}
	}
	return value, false
}

// operation is one method of a path.
type operation struct {
	ID          string      `json:"operationId"`
	Tags        []string    `json:"tags"`
	Summary     string      `json:"summary"`
	Description string      `json:"description"`
	Parameters  []parameter `json:"parameters"`
	Body        struct {
		Content members[media] `json:"content"`
	} `json:"requestBody"`
	Responses members[struct {
		Description string         `json:"description"`
		Content     members[media] `json:"content"`
	}] `json:"responses"`
	Security []map[string][]string `json:"security"`

	Method, Path string `json:"-"`
}

type parameter struct {
	Ref         string `json:"$ref"`
	Name        string `json:"name"`
	In          string `json:"in"`
	Required    bool   `json:"required"`
	Description string `json:"description"`
	Schema      schema `json:"schema"`
}

// media is a body of one content type.
type media struct {
	Schema  schema          `json:"schema"`
	Example json.RawMessage `json:"example"`
}

// schema is a JSON Schema as the document has them.
type schema struct {
	Ref         string          `json:"$ref"`
	Type        texts           `json:"type"`
	Description string          `json:"description"`
	Enum        []any           `json:"enum"`
	Const       any             `json:"const"`
	Properties  members[schema] `json:"properties"`
	Required    []string        `json:"required"`
	Items       *schema         `json:"items"`
	Values      *values         `json:"additionalProperties"`
	AllOf       []schema        `json:"allOf"`
	AnyOf       []schema        `json:"anyOf"`
	OneOf       []schema        `json:"oneOf"`
}

// values is the schema of members without a name of their own, or whether there may be
// any.
type values struct{ schema }

// UnmarshalJSON implements json.Unmarshaler.
func (v *values) UnmarshalJSON(data []byte) error {
	var any bool
	if json.Unmarshal(data, &any) == nil {
		return nil
	}
	return json.Unmarshal(data, &v.schema)
}

// texts is a text or a list of them.
type texts []string

// UnmarshalJSON implements json.Unmarshaler.
func (t *texts) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*t = texts{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(t))
}

// methods are what a path may have besides what is shared by its methods.
var methods = []string{"get", "post", "put", "patch", "delete"}

// operations returns the operations in the order of the document.
func (d *document) operations() (all []operation, err error) {
	for _, path := range d.Paths {
		var shared []parameter
		if raw, ok := path.Value.get("parameters"); ok {
			if err := json.Unmarshal(raw, &shared); err != nil {
				return nil, err
			}
		}
		for _, method := range methods {
			raw, ok := path.Value.get(method)
			if !ok {
				continue
			}
			o := operation{Method: strings.ToUpper(method), Path: path.Name}
			if err := json.Unmarshal(raw, &o); err != nil {
				return nil, fmt.Errorf("%s %s: %w", method, path.Name, err)
			}
			o.Parameters = append(shared[:len(shared):len(shared)], o.Parameters...)
			for i, p := range o.Parameters {
				if named := d.Components.Parameters[last(p.Ref)]; named != nil {
					o.Parameters[i] = *named
				}
			}
			all = append(all, o)
		}
	}
	return all, nil
}

// last is the last part of a reference.
func last(ref string) string { return ref[strings.LastIndexByte(ref, '/')+1:] }
