package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// cachePlaces is how many prompts a promptCache remembers.
const cachePlaces = 4

// promptCache counts the tokens of prompts that a model server computes which
// remembers the last prompt of each of its places, as llama.cpp does: a request gets
// the place whose prompt begins most like its own, if half of it does, and else the one
// that was not used for longest.
type promptCache struct {
	mu      sync.Mutex
	places  [][]byte // the one that was used last is at the end
	counted cacheCounts
}

// cacheCounts are tokens of prompts.
type cacheCounts struct{ Prompt, Computed int }

// before counts the prompts of requests, which take a while.
func (c *promptCache) before(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var req struct{ Messages json.RawMessage }
		if json.Unmarshal(body, &req) == nil && len(req.Messages) > 0 {
			c.count(req.Messages)
			time.Sleep(2 * time.Millisecond)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	})
}

func (c *promptCache) count(prompt []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at, longest := 0, 0
	for i, known := range c.places {
		if n := common(known, prompt); n > longest {
			at, longest = i, n
		}
	}
	if 2*longest < len(prompt) {
		at = 0
	}
	const bytesOfToken = 4
	c.counted.Prompt += len(prompt) / bytesOfToken
	c.counted.Computed += (len(prompt) - longest) / bytesOfToken
	if len(c.places) == cachePlaces || 2*longest >= len(prompt) {
		c.places = slices.Delete(c.places, at, at+1)
	}
	c.places = append(c.places, slices.Clone(prompt))
}

// common is how many bytes two prompts begin with alike.
func common(a, b []byte) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

// counts answers with what was counted and begins anew.
func (c *promptCache) counts(w http.ResponseWriter, _ *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	data, err := json.Marshal(c.counted)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	c.counted, c.places = cacheCounts{}, nil
	_, _ = w.Write(data) // who asked may have left
}
