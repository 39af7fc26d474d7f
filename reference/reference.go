// Package reference shows an OpenAPI document as one page of HTML that needs no script
// and no network: the routes by their tags, each with its fields, its answers, and an
// example as a program in several languages, and then the objects.
//
// [Page] makes the page, [Examples] returns the programs alone, so that a test can run
// them.
package reference

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"slices"
	"strings"
)

//go:embed page.html
var source string

//go:embed page.css
var style string

// Policy is the content security policy of the page: its own style and nothing else.
var Policy = func() string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; frame-ancestors 'none'; base-uri 'none'"
}()

var page = template.Must(template.New("page").Funcs(template.FuncMap{"text": plainText}).Parse(source))

// view is what the template gets.
type view struct {
	Title, Description string
	Style              template.CSS
	Groups             []group
	Objects            []object
}

// group is the routes of one tag.
type group struct {
	Name, ID string
	Routes   []route
}

type route struct {
	operation
	Query    []field
	Fields   []field
	Request  template.HTML // the type of the body
	Answers  []answer
	Examples []Example
}

// answer is what a status means.
type answer struct {
	Status, Description string
	Type                template.HTML
}

// object is a schema with a name.
type object struct {
	Name, Description string
	Type              template.HTML
	Fields            []field
}

// field is a member of an object or a parameter.
type field struct {
	Name, Description string
	Type              template.HTML
	Required          bool
}

// Page returns the page of an OpenAPI document.
func Page(openAPI []byte) ([]byte, error) {
	var d document
	if err := json.Unmarshal(openAPI, &d); err != nil {
		return nil, err
	}
	operations, err := d.operations()
	if err != nil {
		return nil, err
	}
	v := view{Title: d.Info.Title, Description: d.Info.Description, Style: template.CSS(style)}
	for _, tag := range d.Tags {
		g := group{Name: tag.Name, ID: strings.ToLower(strings.ReplaceAll(tag.Name, " ", "-"))}
		for _, o := range operations {
			if slices.Contains(o.Tags, tag.Name) {
				r, err := d.route(o)
				if err != nil {
					return nil, err
				}
				g.Routes = append(g.Routes, r)
			}
		}
		if len(g.Routes) > 0 {
			v.Groups = append(v.Groups, g)
		}
	}
	for _, s := range d.Components.Schemas {
		v.Objects = append(v.Objects, object{Name: s.Name, Description: s.Value.Description, Type: typeOf(s.Value), Fields: d.fields(s.Value)})
	}
	var b bytes.Buffer
	if err := page.Execute(&b, v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func (d *document) route(o operation) (r route, err error) {
	r = route{operation: o}
	for _, p := range o.Parameters {
		r.Query = append(r.Query, field{Name: p.Name, Description: strings.TrimSpace(p.Description), Type: typeOf(p.Schema), Required: p.Required})
	}
	for _, m := range o.Body.Content {
		r.Request, r.Fields = typeOf(m.Value.Schema), d.fields(m.Value.Schema)
	}
	for _, a := range o.Responses {
		one := answer{Status: a.Name, Description: a.Value.Description}
		for _, m := range a.Value.Content {
			if one.Type != "" {
				one.Type += " or "
			}
			if one.Type += typeOf(m.Value.Schema); m.Name != "application/json" {
				one.Type += template.HTML(" as <code>" + template.HTMLEscapeString(m.Name) + "</code>")
			}
		}
		if one.Type != "" {
			r.Answers = append(r.Answers, one)
		}
	}
	r.Examples, err = o.examples()
	return r, err
}

// maxDepth is how many schemas may be made of each other.
const maxDepth = 8

// fields returns the members of a schema, and of those that it is made of.
func (d *document) fields(s schema) []field { return d.fieldsWithin(s, maxDepth) }

func (d *document) fieldsWithin(s schema, depth int) (all []field) {
	if depth == 0 {
		return nil
	}
	if s.Ref != "" {
		s, _ = d.Components.Schemas.get(last(s.Ref))
	}
	for _, part := range s.AllOf {
		all = append(all, d.fieldsWithin(part, depth-1)...)
	}
	if choice := slices.Concat(s.AnyOf, s.OneOf); len(choice) == 2 && slices.Contains(choice[1].Type, "null") {
		all = append(all, d.fieldsWithin(choice[0], depth-1)...) // it, or nothing
	}
	for _, p := range s.Properties {
		all = append(all, field{Name: p.Name, Description: p.Value.Description, Type: typeOf(p.Value), Required: slices.Contains(s.Required, p.Name)})
	}
	return all
}

// typeOf says what a value is, with links to objects.
func typeOf(s schema) template.HTML {
	escaped := template.HTMLEscapeString
	switch choice := slices.Concat(s.AnyOf, s.OneOf, s.AllOf); {
	case s.Ref != "":
		name := escaped(last(s.Ref))
		return template.HTML(`<a href="#` + name + `">` + name + `</a>`)
	case s.Const != nil:
		return template.HTML("<code>" + escaped(value(s.Const)) + "</code>")
	case len(s.Enum) > 0:
		var names []string
		for _, v := range s.Enum {
			names = append(names, "<code>"+escaped(value(v))+"</code>")
		}
		return template.HTML(strings.Join(names, " or "))
	case len(choice) > 0:
		var names []string
		for _, one := range choice {
			if name := string(typeOf(one)); name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		return template.HTML(strings.Join(names, " or "))
	case s.Items != nil:
		return "array of " + typeOf(*s.Items) + orNull(s)
	case s.Values != nil && typeOf(s.Values.schema) != "":
		return "object of " + typeOf(s.Values.schema) + orNull(s)
	}
	return template.HTML(escaped(strings.Join(s.Type, " or ")))
}

func orNull(s schema) template.HTML {
	if slices.Contains(s.Type, "null") {
		return " or null"
	}
	return ""
}

// value writes a constant as JSON has it.
func value(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// plainText is a description as it is shown.
func plainText(s string) string { return strings.TrimSpace(s) }
