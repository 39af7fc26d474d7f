package websearch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// SearXNG is a [Client] for a SearXNG instance, which must have its JSON format
// enabled: GET {URL}/search?q=…&format=json.
type SearXNG struct {
	URL  string       // base URL
	HTTP *http.Client // nil: http.DefaultClient; the context bounds a search
}

// maxAnswer is how many bytes of an answer are read.
const maxAnswer = 4 << 20

// Search implements [Client].
func (s *SearXNG) Search(ctx context.Context, query string) ([]Result, error) {
	address := strings.TrimSuffix(s.URL, "/") + "/search?" + url.Values{"q": {query}, "format": {"json"}}.Encode()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	client := s.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return nil, withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("websearch: the search service answered %s", resp.Status)
	}
	var answer struct {
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxAnswer)).Decode(&answer); err != nil {
		return nil, fmt.Errorf("websearch: reading the answer: %w", err)
	}
	results := make([]Result, 0, len(answer.Results))
	for _, r := range answer.Results {
		results = append(results, Result{r.Title, r.URL, r.Content})
	}
	return results, nil
}

// withoutURL returns the cause of an error of an HTTP client, which also names
// the URL: that has the query in it, which does not belong in logs.
func withoutURL(err error) error {
	if e, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("websearch: asking the search service: %w", e.Err)
	}
	return err
}
