package llamaserver

import (
	"context"
	"net/http"
	"time"
)

const (
	askEvery = 100 * time.Millisecond
	askTime  = 2 * time.Second // for one answer
)

// waitHealthy returns nil when the server at the URL says that its model is
// loaded, and the error of ctx when that ends before.
func waitHealthy(ctx context.Context, base string) error {
	client := &http.Client{Timeout: askTime, Transport: &http.Transport{DisableKeepAlives: true}} // and no proxy
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for {
		if healthy(ctx, client, base+"/health") {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func healthy(ctx context.Context, client *http.Client, url string) bool {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	resp, err := client.Do(req)
	if err != nil {
		return false // it does not listen yet
	}
	_ = resp.Body.Close() // nothing was asked but the status
	return resp.StatusCode == http.StatusOK
}
