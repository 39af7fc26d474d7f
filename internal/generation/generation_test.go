package generation

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/schema"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

const numberSchema = `{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}`

func request(format model.FormatType) *model.Request {
	req := &model.Request{Model: "m", Messages: []model.Message{model.TextMessage(model.User, "How many?")}}
	req.Format.Type = format
	return req
}

// play collects the answer to a request in a format, and behind it what it has
// used.
func play(t *testing.T, b model.Backend, format model.FormatType) (events []model.Event, err error) {
	var s *schema.Schema
	if format == model.FormatSchema {
		if s, err = schema.Compile(json.RawMessage(numberSchema), "schema"); err != nil {
			t.Fatal(err)
		}
	}
	var meter Meter
	for event, failure := range Stream(t.Context(), b, request(format), s, &meter) {
		if err = failure; err == nil {
			events = append(events, event)
		}
	}
	return append(events, meter.Usage()), err
}

func text(s string) model.Event { return model.TextDelta{Text: s} }

var (
	started = model.Started{}
	stop    = model.Finish{Reason: model.Stop}
	length  = model.Finish{Reason: model.Length}
	calls   = model.Finish{Reason: model.ToolCalls}
	usage   = modeltest.DefaultUsage
	twice   = usage.Add(usage)
)

func TestAnswers(t *testing.T) {
	failed := errors.New("broken")
	invalid := fault.Upstreamf(errInvalid, "The model's answer was not valid for the requested format.")
	for _, c := range []struct {
		rule    string
		format  model.FormatType
		answers []modeltest.Answer
		want    []model.Event
		err     error
	}{
		{"free text passes through as it comes", model.FormatText,
			[]modeltest.Answer{modeltest.Text(" a", "b ")}, []model.Event{text(" a"), text("b "), stop, usage}, nil},
		{"an omitted format is free text", "",
			[]modeltest.Answer{modeltest.Text(" a")}, []model.Event{text(" a"), stop, usage}, nil},
		{"a structured answer is held back and trimmed", model.FormatSchema,
			[]modeltest.Answer{modeltest.Text("\n{", `"n":1}`, "\n\n")}, []model.Event{started, text(`{"n":1}`), stop, usage}, nil},
		{"an object is all that json_object asks for", model.FormatObject,
			[]modeltest.Answer{modeltest.Text(`{"any":1}`)}, []model.Event{started, text(`{"any":1}`), stop, usage}, nil},
		{"an array is no object", model.FormatObject,
			[]modeltest.Answer{modeltest.Text(`[]`), modeltest.Text(`{}`)}, []model.Event{started, text(`{}`), stop, twice}, nil},
		{"null is no object", model.FormatObject,
			[]modeltest.Answer{modeltest.Text(`null`), modeltest.Text(`{}`)}, []model.Event{started, text(`{}`), stop, twice}, nil},
		{"an invalid answer is asked for again and both are counted", model.FormatSchema,
			[]modeltest.Answer{modeltest.Text(`{"n":"x"}`), modeltest.Text(`{"n":2}`)},
			[]model.Event{started, text(`{"n":2}`), stop, twice}, nil},
		{"the second invalid answer fails", model.FormatSchema,
			[]modeltest.Answer{modeltest.Text(`{"n":"x"}`), modeltest.Text(`{}`)},
			[]model.Event{started, twice}, invalid},
		{"the model starts once", model.FormatSchema,
			[]modeltest.Answer{
				modeltest.Events(model.Started{}, text("x"), usage, stop),
				modeltest.Events(model.Started{}, text(`{"n":2}`), usage, stop),
			},
			[]model.Event{model.Started{}, text(`{"n":2}`), stop, twice}, nil},
		{"an answer that was cut is not validated", model.FormatSchema,
			[]modeltest.Answer{modeltest.Text(`{"n":`).WithFinish(model.Length)}, []model.Event{started, text(`{"n":`), length, usage}, nil},
		{"an empty answer that was cut has no text", model.FormatSchema,
			[]modeltest.Answer{modeltest.Events(usage, length)}, []model.Event{length, usage}, nil},
		{"tool calls are not validated and come after the text before them", model.FormatSchema,
			[]modeltest.Answer{modeltest.Events(text("Let me see."), model.ToolCallStart{ID: "1", Name: "f"}, model.ToolCallDelta{Arguments: "{}"}, usage, calls)},
			[]model.Event{started, text("Let me see."), model.ToolCallStart{ID: "1", Name: "f"}, model.ToolCallDelta{Arguments: "{}"}, calls, usage}, nil},
		{"an error passes through and drops the text", model.FormatSchema,
			[]modeltest.Answer{modeltest.Fail(failed, text("{"), usage)}, []model.Event{started, usage}, failed},
		{"an error of the second attempt passes through", model.FormatSchema,
			[]modeltest.Answer{modeltest.Text("x"), modeltest.Fail(failed)}, []model.Event{started, usage}, failed},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := play(t, modeltest.New(c.answers...), c.format)
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("events\ngot  %#v\nwant %#v", got, c.want)
			}
			if !reflect.DeepEqual(err, c.err) {
				t.Errorf("error\ngot  %v\nwant %v", err, c.err)
			}
		})
	}
}

func TestTheRetryShowsTheModelWhatWasWrong(t *testing.T) {
	is := is.New(t)
	script := modeltest.New(modeltest.Text(`{"n":"x"}`), modeltest.Text(`{"n":2}`))
	_, err := play(t, script, model.FormatSchema)
	is.NoErr(err)

	second := request(model.FormatSchema)
	second.Messages = append(second.Messages,
		model.TextMessage(model.Assistant, `{"n":"x"}`),
		model.TextMessage(model.User, "That answer cannot be used: at /n: got string, want integer. "+
			"Answer again with nothing but JSON in the requested format."))
	is.Equal(script.Requests(), []*model.Request{request(model.FormatSchema), second})
}

func TestTheRetryHasWhatIsLeftOfTheAllowance(t *testing.T) {
	is := is.New(t)
	ask := func(allowance int) (script *modeltest.Script, err error) {
		script = modeltest.New(modeltest.Text("x"), modeltest.Text("{}"))
		req := request(model.FormatObject)
		req.MaxTokens = allowance
		for _, err = range Stream(t.Context(), script, req, nil, &Meter{}) {
		}
		return script, err
	}
	script, err := ask(usage.OutputTokens + 3)
	is.NoErr(err)
	is.Equal(script.Requests()[1].MaxTokens, 3)

	script, err = ask(usage.OutputTokens)
	is.True(fault.Is(err, fault.Upstream))
	is.Equal(len(script.Requests()), 1)
}

func TestTheConsumerMayStopAnywhere(t *testing.T) {
	answer := modeltest.Events(model.Started{}, text("a"), model.ToolCallStart{ID: "1", Name: "f"},
		model.ToolCallDelta{Arguments: "{}"}, text("b"), usage, calls)
	for stopAt := range 7 {
		script := modeltest.New(answer)
		n := 0
		for range Stream(t.Context(), script, request(model.FormatObject), nil, &Meter{}) {
			if n == stopAt {
				break
			}
			n++
		}
		is.New(t).Equal(script.UnderWay(), 0)
	}
}

func TestCancellationIsTheError(t *testing.T) {
	is := is.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	script := modeltest.New(modeltest.Block(model.Started{}))
	var last error
	for event, err := range Stream(ctx, script, request(model.FormatObject), nil, &Meter{}) {
		if event != nil {
			cancel()
		}
		last = err
	}
	is.Equal(last, context.Canceled)
	is.Equal(script.UnderWay(), 0)
}
