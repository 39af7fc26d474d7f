package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/internal/background"
)

// mostAtOnce is how many rows are asked about at once where nothing else is said:
// as many calls of models as a server makes for one organization.
const mostAtOnce = 64

// answered is what the server says about a state: the answers, or what is wrong
// with the row as their member error.
type answered struct {
	id      string // of the stored decision
	answers json.RawMessage
	refused bool
	tokens  int
	took    time.Duration // the last try
}

// refusedAs is the answer about a row that has none.
func refusedAs(reason string) (json.RawMessage, error) {
	return json.Marshal(map[string]string{"error": reason})
}

// ask decides about one state. It tries again while the server is busy.
func (d *deciding) ask(ctx context.Context, questions, state json.RawMessage) (answered, error) {
	body := d.body(questions, state)
	const tries = 8
	for pause := time.Second / 4; ; pause *= 2 {
		round, err := d.pace.enter(ctx)
		if err != nil {
			return answered{}, err
		}
		begin := time.Now()
		found, e := d.post(ctx, body)
		found.took = time.Since(begin)
		tooMany, failing := false, false
		if e != nil {
			unavailable := e.Kind == fault.Unavailable
			tooMany = e.Kind == fault.RateLimited || unavailable && e.Err == nil // the server says so
			failing = unavailable || e.Kind == fault.Upstream || e.Kind == fault.Internal
		}
		d.pace.leave(round, tooMany)
		switch {
		case ctx.Err() != nil:
			return answered{}, ctx.Err()
		case e == nil:
			return found, nil
		case (tooMany || failing) && pause < time.Second/4<<tries:
			background.Sleep(ctx, min(pause, 30*time.Second)) // the next round sees the end of ctx
		case e.Kind == fault.Rejected: // this row does not fit the model
			failure, err := refusedAs(e.Message)
			return answered{answers: failure, refused: true}, err
		default:
			return answered{}, sentence(e)
		}
	}
}

// body is a request about a state.
func (d *deciding) body(questions, state json.RawMessage) any {
	body := map[string]any{"model": d.model, "state": state, "questions": questions}
	if d.store {
		body["store"] = true
	}
	return body
}

// readAnswer reads the answer to a request.
func readAnswer(body json.RawMessage) (answered, error) {
	var reply struct {
		ID      string
		Answers json.RawMessage
		Usage   struct {
			InputTokens int `json:"input_tokens"`
		}
	}
	err := json.Unmarshal(body, &reply)
	return answered{id: reply.ID, answers: reply.Answers, tokens: reply.Usage.InputTokens}, err
}

// post asks once.
func (d *deciding) post(ctx context.Context, body any) (answered, *fault.Error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	var reply json.RawMessage
	err := d.server.Do(ctx, "POST", decideEndpoint, body, &reply)
	if err != nil {
		return answered{}, fault.From(err)
	}
	found, err := readAnswer(reply)
	return found, fault.From(err)
}

// manyClient keeps a connection for each request that there is at once.
var manyClient = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: mostAtOnce}}
