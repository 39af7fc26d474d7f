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
)

const (
	// answerTimeout is how long the server has to answer a command.
	answerTimeout = time.Minute
	// maxAnswer is how many bytes of an answer are read: many times the longest page.
	maxAnswer = 64 << 20
)

// client speaks to the administration of a running server.
type client struct{ url, key string }

// call sends a request and returns the answer's body. A nil body sends none. The
// error of an answer that is one has its message.
func (c client) call(ctx context.Context, method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	resp, err := c.do(ctx, method, path, body)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
}

// do sends a request and returns the answer, which is not an error. The caller
// closes its body.
func (c client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	if c.key == "" {
		return nil, fmt.Errorf("no admin key: set -admin-key or SVC_ADMIN_KEY to the one that the server was started with")
	}
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.url, "/")+path, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	return nil, refusal(resp)
}

// refusal returns the error that an answer carries.
func refusal(resp *http.Response) error {
	var answer struct {
		Error struct{ Message, Code string }
	}
	err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer)
	switch {
	case err != nil || answer.Error.Code == "":
		return fmt.Errorf("the server answered %s", resp.Status)
	case answer.Error.Code == "not_found":
		return fmt.Errorf("the server was started without an admin key: %s", answer.Error.Message)
	}
	return fmt.Errorf("%s (%s)", answer.Error.Message, answer.Error.Code)
}
