package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/internal/background"
)

// mostAtOnce is how many rows are asked about at once where nothing else is said:
// as many calls of models as a server makes for one organization.
const mostAtOnce = 64

// answered is what the server says about a state: the answers, or what is wrong
// with the row as their member error.
type answered struct {
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
	body, err := json.Marshal(map[string]any{"model": d.model, "state": state, "questions": questions})
	if err != nil {
		return answered{}, err
	}
	const tries = 8
	for pause := time.Second / 4; ; pause *= 2 {
		round, err := d.pace.enter(ctx)
		if err != nil {
			return answered{}, err
		}
		begin := time.Now()
		status, answer, err := d.post(ctx, body)
		took := time.Since(begin)
		tooMany := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
		d.pace.leave(round, tooMany)
		busy := err != nil || tooMany || status >= 500
		switch {
		case ctx.Err() != nil:
			return answered{}, ctx.Err()
		case busy && pause < time.Second/4<<tries:
			background.Sleep(ctx, min(pause, 30*time.Second)) // the next round sees the end of ctx
			continue
		case err != nil:
			return answered{}, err
		}
		return parseAnswer(status, answer, took)
	}
}

func parseAnswer(status int, answer []byte, took time.Duration) (answered, error) {
	var reply struct {
		Answers json.RawMessage
		Usage   struct {
			InputTokens int `json:"input_tokens"`
		}
		Detail struct{ Message string }
	}
	if err := json.Unmarshal(answer, &reply); err != nil {
		return answered{}, fmt.Errorf("the server answered %d", status)
	}
	switch status {
	case http.StatusOK:
		return answered{answers: reply.Answers, tokens: reply.Usage.InputTokens, took: took}, nil
	case http.StatusBadRequest: // this row does not fit the model
		failure, err := refusedAs(reply.Detail.Message)
		return answered{answers: failure, refused: true}, err
	}
	return answered{}, fmt.Errorf("%s (%d)", reply.Detail.Message, status)
}

// manyClient keeps a connection for each request that there is at once.
var manyClient = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: mostAtOnce}}

func (d *deciding) post(ctx context.Context, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(d.url, "/")+"/v1/systemone", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := manyClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}
