package wire

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

var update = flag.Bool("update", false, "write httpapi/openapi.json anew")

// requests and answers are the bodies whose schemas are made of their structs, with
// all that they are made of. All else is in openapi.base.json: routes, errors by
// status, and the schemas of what reads or writes itself.
var (
	requests = []any{
		DecisionRequest{}, DecisionListRequest{}, RerankRequest{}, CalibrationRequest{}, EmbeddingRequest{}, MetadataRequest{}, BatchRequest{},
		LabelsRequest{},
		ModerationRequest{}, WebhookRequest{}, WebhookUpdate{}, WebhookRotation{}, WebhookTestRequest{},
		VectorStoreRequest{}, VectorStoreUpdate{}, VectorStoreFileRequest{}, VectorStoreFileUpdate{}, FileBatchRequest{}, SearchRequest{},
		ResponseRequest{}, CompactionRequest{}, ChatRequest{}, CompletionRequest{}, MessagesRequest{},
		OrganizationRequest{}, OrganizationUpdate{}, CreditsRequest{}, KeyRequest{}, KeyUpdate{},
	}
	answers = []any{
		Decision{}, DecisionList{}, Ranking{}, Calibration{}, List[Calibration]{}, KeptDecision{}, List[KeptDecision]{}, EmbeddingList{}, Moderations{}, ModelList{}, InputTokens{},
		Response{}, Compacted{}, ResponseEvent{}, List[Item]{}, ChatCompletion{}, List[ChatCompletion]{}, ChatChunk{}, List[StoredMessage]{}, TextCompletion{},
		SearchAction{}, MessagesMessage{}, MessagesTokens{}, MessagesModels{}, MessagesError{},
		Conversation{}, List[File]{}, List[Batch]{}, BatchLine{},
		List[VectorStore]{}, List[VectorStoreFile]{}, VectorStoreContent{}, FileBatch{}, SearchResults{}, FoundChunk{},
		List[WebhookEndpoint]{}, List[WebhookDelivery]{}, WebhookTest{}, WebhookEventTypes{}, WebhookEvent{}, List[Organization]{}, List[UsageRecord]{}, List[APIKey]{}, List[AuditEntry]{}, Status{}, Error{}, DecisionError{},
	}

	// byHand are the types that read or write themselves, by the names of their schemas.
	byHand = map[reflect.Type]string{
		reflect.TypeFor[DecisionQuestion]():      "DecisionQuestion",
		reflect.TypeFor[CalibratedQuestion]():    "CalibratedQuestion",
		reflect.TypeFor[RerankDocument]():        "RerankDocument",
		reflect.TypeFor[EmbedTexts]():            "EmbedTexts",
		reflect.TypeFor[ModerationInputs]():      "ModerationInputs",
		reflect.TypeFor[Vector]():                "Vector",
		reflect.TypeFor[ImageData]():             "ImageData",
		reflect.TypeFor[ChoiceValue]():           "ChoiceValue",
		reflect.TypeFor[InputItem]():             "ResponseInputItem",
		reflect.TypeFor[ResponseTool]():          "ResponseToolInput",
		reflect.TypeFor[ResponseToolChoice]():    "ResponseToolChoice",
		reflect.TypeFor[LogitBias]():             "LogitBias",
		reflect.TypeFor[ItemAction]():            "ItemAction",
		reflect.TypeFor[VectorStoreAttributes](): "VectorStoreAttributes",
		reflect.TypeFor[DataURL]():               "DataURL",
		reflect.TypeFor[Prompt]():                "Prompt",
	}
)

// TestOpenAPIIsCurrent fails where httpapi/openapi.json is not what the structs of this
// package and openapi.base.json say. To write it anew:
//
//	go test ./internal/wire -run OpenAPI -update
func TestOpenAPIIsCurrent(t *testing.T) {
	base, err := os.ReadFile("openapi.base.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &generator{names: map[string]bool{}, comments: comments(t)}
	for _, v := range requests {
		g.whole = append(g.whole, shapeOf(reflect.TypeOf(v)))
		g.component(reflect.TypeOf(v), true)
	}
	for _, v := range answers {
		g.component(reflect.TypeOf(v), false)
	}
	var schemas bytes.Buffer
	for i, s := range g.schemas {
		if i > 0 {
			schemas.WriteString(",\n")
		}
		schemas.WriteString("      " + strconv.Quote(s.Name) + ": ")
		format(t, &schemas, s.Value, 6, len(s.Name)+10)
	}
	const place = `      "generated": {}`
	if bytes.Count(base, []byte(place)) != 1 {
		t.Fatalf("openapi.base.json has no line %s", place)
	}
	want := bytes.Replace(base, []byte(place), schemas.Bytes(), 1)
	const file = "../../httpapi/openapi.json"
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("httpapi/openapi.json is not current (%v): go test ./internal/wire -run OpenAPI -update", err)
	}
}

// comments returns the comments of the types of this package, by their names.
func comments(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			if d, ok := d.(*ast.GenDecl); ok && d.Tok == token.TYPE && !d.Lparen.IsValid() {
				text := strings.NewReplacer("[", "", "]", "").Replace(d.Doc.Text())
				found[d.Specs[0].(*ast.TypeSpec).Name.Name] = strings.Join(strings.Fields(text), " ")
			}
		}
	}
	return found
}

// object is a part of a schema, with its members in order.
type object = Members[any]

// generator makes the schemas of structs.
type generator struct {
	names   map[string]bool
	schemas object
	whole   []*shape // of the bodies of requests

	comments map[string]string // of the types
}

// component returns a reference to the schema of a struct, which it makes once. What
// requests and answers share is described as in requests.
func (g *generator) component(t reflect.Type, request bool) any {
	name := t.Name()
	if of, ok := strings.CutPrefix(name, "List["); ok { // List[path/wire.File]
		name = strings.TrimSuffix(of[strings.LastIndexByte(of, '.')+1:], "]") + "List"
	}
	if !g.names[name] {
		g.names[name] = true
		at := len(g.schemas)
		g.schemas = append(g.schemas, Member[any]{Name: name})
		schema := g.structure(t, request).(object)
		if comment := g.comments[t.Name()]; comment != "" {
			schema = append(object{{Name: "description", Value: comment}}, schema...)
		}
		g.schemas[at].Value = schema
	}
	return reference(name)
}

func reference(name string) any {
	return object{{Name: "$ref", Value: "#/components/schemas/" + name}}
}

// structure returns the schema of a struct: of a union one for each of its types.
func (g *generator) structure(t reflect.Type, request bool) any {
	s := shapeOf(t)
	if _, ok := s.byName["type"]; !s.union || !ok {
		return g.variant(s, "", request)
	}
	var all []any
	for _, name := range variantsOf(s) {
		all = append(all, g.variant(s, name, request))
	}
	return object{{Name: "oneOf", Value: all}}
}

// variantsOf returns the types of a union.
func variantsOf(s *shape) []string {
	names := strings.Split(s.fields[s.byName["type"]].rules["enum"], "|")
	for i := range s.fields {
		for _, name := range s.fields[i].of {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}

func (g *generator) variant(s *shape, variant string, request bool) any {
	var properties object
	required := []string{}
	for i := range s.fields {
		f := &s.fields[i]
		if f.refused != "" || variant != "" && !f.in(variant) {
			continue
		}
		needed := mandatory(f, request) && (f.of == nil || variant != "")
		if f.name == "input" && s == shapeOf(reflect.TypeFor[CompactionRequest]()) {
			needed = false // behind a response or a conversation
		}
		value := g.field(f, request && !needed && !f.present, request)
		if f.name == "type" && variant != "" {
			value = object{{Name: "const", Value: variant}}
			needed = variant != s.absent
		}
		properties = append(properties, Member[any]{Name: f.name, Value: value})
		if needed {
			required = append(required, f.name)
		}
	}
	if _, own := s.byName["unknown_fields"]; !own && slices.Contains(g.whole, s) { // see httpapi, which reads it
		properties = append(properties, Member[any]{Name: "unknown_fields", Value: reference("UnknownFields")})
	}
	schema := object{{Name: "type", Value: "object"}}
	if len(required) > 0 {
		schema = append(schema, Member[any]{Name: "required", Value: required})
	}
	return append(schema, Member[any]{Name: "properties", Value: properties})
}

// mandatory reports whether a field is always there: in a request by its rules, in an
// answer unless it may be left out.
func mandatory(f *field, request bool) bool {
	_, needed := f.rules["needed"]
	if request {
		return f.mandatory || needed
	}
	_, options, _ := strings.Cut(f.tag.Get("json"), ",")
	return options == "" || f.rules["required"] != "" || f.mandatory
}

// field returns the schema of a field. What may be left out of a request may be null.
func (g *generator) field(f *field, nullable, request bool) any {
	if why := f.tag.Get("harmless"); why != "" {
		return object{{Name: "description", Value: "No effect on the answer: " + why + "."}}
	}
	t := f.typ
	pointer := t.Kind() == reflect.Pointer
	if pointer {
		t = t.Elem()
		nullable = nullable || t.Kind() == reflect.Pointer // of which the outer one says whether it is there
	}
	_, null := f.rules["nullable"]
	_, options, _ := strings.Cut(f.tag.Get("json"), ",")
	if !request && pointer && options == "" || f.present && request || null {
		nullable = true
	}
	schema := g.of(t, f, request)
	if nullable {
		schema = orNull(schema)
	}
	if doc := f.tag.Get("doc"); doc != "" {
		schema = append(schema, Member[any]{Name: "description", Value: doc})
	}
	return schema
}

// orNull returns a schema that takes null, too.
func orNull(schema object) object {
	if len(schema) == 0 || schema[0].Value == "null" {
		return schema // takes anything, or null alone
	}
	if kind, ok := schema[0].Value.(string); ok && schema[0].Name == "type" && !slices.ContainsFunc(schema, func(m Member[any]) bool { return m.Name == "enum" }) {
		return append(object{{Name: "type", Value: []string{kind, "null"}}}, schema[1:]...)
	}
	return object{{Name: "anyOf", Value: []any{schema, object{{Name: "type", Value: "null"}}}}}
}

// special returns the schema of a type that its kind does not describe, or nil.
func (g *generator) special(t reflect.Type, f *field, request bool) object {
	if name := byHand[t]; name != "" {
		return reference(name).(object)
	}
	if only := f.rules["only"]; only != "" {
		return object{{Name: "const", Value: json.RawMessage(only)}}
	}
	switch v := reflect.Zero(t).Interface().(type) {
	case json.RawMessage:
		if types := f.rules["types"]; types != "" {
			return object{{Name: "type", Value: strings.Split(types, "|")}}
		}
		if _, ok := f.rules["object"]; ok {
			return object{{Name: "type", Value: "object"}}
		}
		return object{}
	case Dollars:
		if request {
			return object{{Name: "type", Value: []string{"string", "number"}}}
		}
		return object{{Name: "type", Value: "string"}, {Name: "pattern", Value: `^-?[0-9]+(\.[0-9]{1,6})?$`}}
	case Tags:
		if request {
			return reference("MetadataInput").(object)
		}
		return reference("Metadata").(object)
	case generic:
		if strings.HasPrefix(t.Name(), "Members[") {
			return append(object{{Name: "type", Value: "object"}, {Name: "additionalProperties", Value: g.of(v.element(), &field{}, request)}}, g.size(f, "Properties")...)
		}
		return object{{Name: "anyOf", Value: []any{object{{Name: "type", Value: "string"}}, g.of(v.element(), f, request)}}}
	}
	return nil
}

// of returns the schema of a type with the rules of a field.
func (g *generator) of(t reflect.Type, f *field, request bool) object {
	if schema := g.special(t, f, request); schema != nil {
		return schema
	}
	switch t.Kind() {
	case reflect.Pointer:
		return g.of(t.Elem(), f, request)
	case reflect.Struct:
		if t.NumField() == 0 {
			return object{{Name: "type", Value: "null"}}
		}
		if t.Name() == "" {
			return g.structure(t, request).(object)
		}
		return g.component(t, request).(object)
	case reflect.Array:
		n := t.Len()
		return object{{Name: "type", Value: "array"}, {Name: "items", Value: g.of(t.Elem(), &field{}, request)}, {Name: "minItems", Value: n}, {Name: "maxItems", Value: n}}
	case reflect.Slice:
		element := &field{}
		if kind := t.Elem(); kind == rawType || kind.Kind() == reflect.String {
			element.rules = map[string]string{"types": f.rules["types"], "enum": f.rules["enum"]}
		}
		return append(object{{Name: "type", Value: "array"}, {Name: "items", Value: g.of(t.Elem(), element, request)}}, g.size(f, "Items")...)
	case reflect.Map:
		return object{{Name: "type", Value: "object"}, {Name: "additionalProperties", Value: g.of(t.Elem(), &field{}, request)}}
	case reflect.String:
		return text(f)
	case reflect.Bool:
		return object{{Name: "type", Value: "boolean"}}
	case reflect.Int, reflect.Int64:
		return number("integer", f)
	case reflect.Float64:
		return number("number", f)
	}
	panic("no schema for " + t.String())
}

// size returns the bounds of a list or an object, which are read one element further to
// be refused.
func (g *generator) size(f *field, what string) (bounds object) {
	if n, err := strconv.Atoi(f.rules["least"]); err == nil {
		bounds = append(bounds, Member[any]{Name: "min" + what, Value: n})
	}
	if f.first > 0 {
		bounds = append(bounds, Member[any]{Name: "max" + what, Value: f.first - 1})
	} else if n, err := strconv.Atoi(f.rules["most"]); err == nil {
		bounds = append(bounds, Member[any]{Name: "max" + what, Value: n})
	}
	return bounds
}

func text(f *field) object {
	if f.constant != "" {
		return object{{Name: "const", Value: f.constant}}
	}
	schema := object{{Name: "type", Value: "string"}}
	if values := f.rules["enum"]; values != "" {
		return append(schema, Member[any]{Name: "enum", Value: strings.Split(values, "|")})
	}
	if format := f.rules["format"]; format != "" {
		schema = append(schema, Member[any]{Name: "format", Value: format})
	}
	if n, err := strconv.Atoi(f.rules["least"]); err == nil {
		schema = append(schema, Member[any]{Name: "minLength", Value: n})
	}
	if n, err := strconv.Atoi(f.rules["most"]); err == nil {
		schema = append(schema, Member[any]{Name: "maxLength", Value: n})
	}
	return schema
}

func number(kind string, f *field) object {
	schema := object{{Name: "type", Value: kind}}
	for _, rule := range [][2]string{{"min", "minimum"}, {"max", "maximum"}, {"above", "exclusiveMinimum"}} {
		if value := f.rules[rule[0]]; value != "" {
			schema = append(schema, Member[any]{Name: rule[1], Value: json.Number(value)})
		}
	}
	return schema
}

// width is how long a line of openapi.json may be before it is broken.
const width = 200

// format writes JSON: on one line where it fits behind what is there, and else with a
// line for each member.
func format(t *testing.T, b *bytes.Buffer, v any, indent, before int) {
	data, ok := v.([]byte)
	if !ok {
		var err error
		if data, err = json.Marshal(v); err != nil {
			t.Fatal(err)
		}
	}
	root, err := jsonin.Parse(data, jsonin.Dots)
	if err != nil {
		t.Fatal(err)
	}
	if line := spaced(data); before+len(line) <= width || !root.IsObject() && !root.IsArray() {
		b.WriteString(line)
		return
	}
	margin := strings.Repeat(" ", indent+2)
	between, end := "", ""
	if root.IsObject() {
		b.WriteString("{\n")
		for m := range root.Fields() {
			b.WriteString(between + margin + strconv.Quote(m.Name()) + ": ")
			format(t, b, []byte(m.Raw()), indent+2, len(margin)+len(m.Name())+4)
			between, end = ",\n", "}"
		}
	} else {
		b.WriteString("[\n")
		for _, item := range root.Items(1 << 20) {
			b.WriteString(between + margin)
			format(t, b, []byte(item.Raw()), indent+2, len(margin))
			between, end = ",\n", "]"
		}
	}
	b.WriteString("\n" + strings.Repeat(" ", indent) + end)
}

// spaced returns JSON in one line, with a blank behind each comma and colon.
func spaced(data []byte) string {
	var b strings.Builder
	quoted := false
	for i, c := range data {
		b.WriteByte(c)
		switch {
		case c == '"' && (i == 0 || data[i-1] != '\\'):
			quoted = !quoted
		case !quoted && (c == ',' || c == ':'):
			b.WriteByte(' ')
		}
	}
	return b.String()
}
