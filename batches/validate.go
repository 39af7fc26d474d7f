package batches

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// The codes of problems.
const (
	codeEmpty      = "empty_file"
	codeTooMany    = "too_many_requests"
	codeTooLong    = "line_too_long"
	codeJSON       = "invalid_json_line"
	codeMissing    = "missing_required_parameter"
	codeInvalid    = "invalid_request"
	codeDuplicate  = "duplicate_custom_id"
	codeURL        = "invalid_url"
	codeMethod     = "invalid_method"
	codeStream     = "streaming_unsupported"
	codeBackground = "background_unsupported"
	codeModel      = "model_not_found"
	codeInputs     = "too_many_inputs"
	codeFileGone   = "input_file_not_found"
)

const (
	maxProblems = 10_000 // of one file, which the error file has
	maxShown    = 100    // of them, that the batch itself has
	maxCustomID = 512    // bytes
	maxInputs   = 50_000 // of embeddings, in all lines together

	// A segment has that many lines at least, and more while they are alike.
	minSegment      = 16
	maxSegment      = 128
	maxSegmentBytes = 4 << 20
)

// validation is the reading of one input file.
type validation struct {
	service  *Service
	caller   accounts.Caller
	endpoint string

	problems []lineProblem
	name     string            // custom_id of the line that is being checked
	inputs   int               // of embeddings so far
	names    map[[16]byte]bool // hashes of the custom_ids
	models   map[string]error  // what became of looking up a model
	model    string            // of the first line
	before   []byte            // the body of the line before
	segments []segment
	bytes    int64 // of the last segment
	total    int
}

// lineProblem is a problem and the custom_id of its line, if that is known.
type lineProblem struct {
	Problem
	customID string
}

// validate reads the input file and divides it into segments, or fails the batch.
func (s *Service) validate(ctx context.Context, t *task) error {
	ns, id, r := t.ns, t.id, t.record
	v := &validation{service: s, endpoint: r.Endpoint, names: map[[16]byte]bool{}, models: map[string]error{}}
	var err error
	if v.caller, err = s.caller(ctx, ns, r); err != nil {
		return err
	}
	content, err := s.o.Files.ContentFrom(ctx, v.caller, r.InputFile, 0)
	if err == nil {
		err = v.read(ctx, newLineReader(content, 0))
	}
	if fault.Is(err, fault.NotFound) {
		v.problems, err = []lineProblem{{Problem: Problem{Code: codeFileGone, Message: "The input file was deleted.", Param: "input_file_id"}}}, nil
	}
	if err != nil {
		return err
	}
	if len(v.problems) > 0 {
		return s.fail(ctx, t, v.problems)
	}
	return s.change(ctx, ns, id, func(tx storage.Tx, r *record) error {
		if r.Status != Validating {
			return nil // it was cancelled
		}
		for n, seg := range v.segments {
			if err := storage.SetJSON(tx, segmentKey(id, n), seg); err != nil {
				return err
			}
		}
		r.Status, r.InProgressAt, r.Total, r.Model = InProgress, s.o.Now().Unix(), v.total, v.model
		return nil
	})
}

// read checks all lines, up to maxProblems problems.
func (v *validation) read(ctx context.Context, lines *lineReader) error {
	for len(v.problems) < maxProblems {
		v.name = ""
		text, err := lines.read()
		switch {
		case err == io.EOF:
			if v.total == 0 {
				v.problem(0, codeEmpty, "", "The input file has no requests.")
			}
			return nil
		case errors.Is(err, errLongLine):
			v.problem(lines.number, codeTooLong, "", fmt.Sprintf("The line is longer than %d MiB.", MaxLine>>20))
			return nil // where the next one begins is not known
		case err != nil:
			return err
		}
		if v.total++; v.total > MaxLines {
			v.problem(lines.number, codeTooMany, "", fmt.Sprintf("The input file has more than %d requests.", MaxLines))
			return nil
		}
		v.check(ctx, lines, text)
	}
	return nil
}

func (v *validation) problem(line int, code, param, message string) {
	v.problems = append(v.problems, lineProblem{Problem{Code: code, Message: message, Param: param, Line: line}, v.name})
}

// check checks one line and adds it to a segment.
func (v *validation) check(ctx context.Context, lines *lineReader, text []byte) {
	var l line
	n := lines.number
	if err := json.Unmarshal(text, &l); err != nil {
		v.problem(n, codeJSON, "", "The line is not a JSON object with a custom_id, a method, a url and a body"+reason(err)+".")
		return
	}
	v.name = l.CustomID[:min(len(l.CustomID), maxCustomID)]
	digest := sha256.Sum256([]byte(l.CustomID))
	name := [16]byte(digest[:])
	switch {
	case l.CustomID == "":
		v.problem(n, codeMissing, "custom_id", "custom_id is required.")
	case len(l.CustomID) > maxCustomID:
		v.problem(n, codeInvalid, "custom_id", fmt.Sprintf("custom_id is longer than %d bytes.", maxCustomID))
	case v.names[name]:
		v.problem(n, codeDuplicate, "custom_id", fmt.Sprintf("custom_id %.64q is that of an earlier line.", l.CustomID))
	}
	v.names[name] = true
	if l.Method != "POST" {
		v.problem(n, codeMethod, "method", "method must be \"POST\".")
	}
	if l.URL != v.endpoint {
		v.problem(n, codeURL, "url", fmt.Sprintf("url must be the endpoint of the batch, %q, not %.64q.", v.endpoint, l.URL))
	}
	v.checkBody(ctx, n, l.Body)
	v.divide(lines, l.Body)
}

// reason says where a line breaks JSON, or which of its members has another type.
func reason(err error) string {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "" {
			return ""
		}
		return ": " + e.Field + " cannot be " + e.Value
	}
	return ": " + err.Error()
}

// checkBody checks what can be said of a request before it runs.
func (v *validation) checkBody(ctx context.Context, n int, data json.RawMessage) {
	var body struct {
		Model      *string `json:"model"`
		Stream     any     `json:"stream"`
		Background any     `json:"background"`

		Input json.RawMessage `json:"input"`
	}
	if len(data) == 0 || data[0] != '{' {
		v.problem(n, codeMissing, "body", "body is required and must be an object.")
		return
	}
	if err := json.Unmarshal(data, &body); err != nil {
		v.problem(n, codeInvalid, "body.model", "body.model must be a string.")
		return
	}
	if body.Stream == true {
		v.problem(n, codeStream, "body.stream", "The lines of a batch are answered whole; leave stream out.")
	}
	if body.Background == true {
		v.problem(n, codeBackground, "body.background", "The lines of a batch run in the background anyway; leave background out.")
	}
	if v.endpoint == embeddings {
		v.countInputs(n, body.Input)
	}
	if body.Model == nil {
		return // the route says whether it needs one
	}
	if _, known := v.models[*body.Model]; !known {
		v.models[*body.Model] = v.service.o.Model(ctx, v.caller, *body.Model)
	}
	if err := v.models[*body.Model]; err != nil {
		v.problem(n, codeModel, "body.model", fault.From(err).Message)
	}
	if v.total == 1 {
		v.model = *body.Model
	}
}

// countInputs counts the texts of a request for embeddings.
func (v *validation) countInputs(n int, input json.RawMessage) {
	var texts []json.RawMessage
	count := 1
	if json.Unmarshal(input, &texts) == nil && len(texts) > 0 && texts[0][0] == '"' { // a list of numbers is one text
		count = len(texts)
	}
	if before := v.inputs; before <= maxInputs {
		if v.inputs += count; v.inputs > maxInputs {
			v.problem(n, codeInputs, "body.input", fmt.Sprintf("The lines up to this one have more than %d inputs.", maxInputs))
		}
	}
}

// divide adds a line to the last segment, or begins one: what is alike stays together,
// because a model server answers it with what it has cached.
func (v *validation) divide(lines *lineReader, body []byte) {
	size := lines.next - lines.offset
	last := len(v.segments) - 1
	if last < 0 || v.bytes+size > maxSegmentBytes || v.segments[last].Count >= maxSegment ||
		v.segments[last].Count >= minSegment && !alike(v.before, body) {
		v.segments = append(v.segments, segment{Offset: lines.offset, First: v.total - 1})
		v.bytes = 0
		last++
	}
	v.segments[last].Count++
	v.bytes += size
	v.before = append(v.before[:0], body...)
}

// alike reports whether two bodies begin and end with the same bytes for most of
// their length.
func alike(a, b []byte) bool {
	most := min(len(a), len(b))
	head := 0
	for head < most && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < most-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	return 2*(head+tail) > max(len(a), len(b))
}
