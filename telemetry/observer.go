package telemetry

import (
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sync"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/driver"
	"github.com/seed-506d8e5d/svc/guard"
	"github.com/seed-506d8e5d/svc/storage"
)

var _ svc.Observer = (*Telemetry)(nil)

// Wrap implements [svc.Observer].
func (t *Telemetry) Wrap(o *svc.Options) {
	if store, ok := driver.As[storage.Sizer](o.Store); ok {
		t.gaugeOfAll("svc_store_size_bytes", "Size of the store on disk.", nil, sum, func() float64 {
			size, err := store.Size()
			if err != nil {
				return math.NaN()
			}
			return float64(size)
		})
	}
	if store, ok := driver.As[syncer](o.Store); ok {
		t.gaugeOfAll("svc_store_syncs", "How often the store was made durable since it was opened.", nil, sum,
			func() float64 { return float64(store.Syncs()) })
	}
	if servers, ok := driver.As[healthy](o.Backend); ok {
		t.watch(servers)
	}
	told := o.PolicyDecided
	o.PolicyDecided = func(policy string, stage guard.Stage, outcome guard.Outcome) {
		t.metrics.policies.add(context.Background(), 1, policy, string(stage), string(outcome))
		if told != nil {
			told(policy, stage, outcome)
		}
	}
	o.Store, o.Backend, o.Extractor = t.Store(o.Store), t.Backend(o.Backend), t.Extractor(o.Extractor)
	if o.Search != nil {
		o.Search = t.Search(o.Search)
	}
}

// Watch implements [svc.Observer].
func (t *Telemetry) Watch(s *svc.Service) {
	t.gaugeOfAll("svc_extraction_queue", "Uploaded files that wait for the extraction of their text.", nil, sum,
		func() float64 { return float64(s.WaitingFiles()) })
}

// ofAll are the gauges that each service which is observed has a part in: what they
// are asked for, by name and labels.
type ofAll struct {
	mu    sync.Mutex
	reads map[string][]func() float64 // guarded by mu
}

// gaugeOfAll adds one service's part to a gauge, whose value is what together makes
// of all parts.
func (t *Telemetry) gaugeOfAll(name, help string, labels map[string]string, together func([]float64) float64, read func() float64) {
	t.ofAll.mu.Lock()
	defer t.ofAll.mu.Unlock()
	key := fmt.Sprint(name, labels)
	known := t.ofAll.reads[key]
	t.ofAll.reads[key] = append(known, read)
	if known != nil {
		return
	}
	t.Gauge(name, help, labels, func() float64 {
		t.ofAll.mu.Lock()
		reads := slices.Clone(t.ofAll.reads[key])
		t.ofAll.mu.Unlock()
		values := make([]float64, len(reads))
		for i, read := range reads {
			values[i] = read()
		}
		return together(values)
	})
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

// syncer is a store that counts how often it makes writes durable: once for all
// that wait at the time.
type syncer interface{ Syncs() uint64 }

// healthy is a backend that says which of its model servers requests go to, by
// their URLs.
type healthy interface{ Health() map[string]bool }

// watch shows the health of model servers, by their addresses without user and
// password.
func (t *Telemetry) watch(backend healthy) {
	addresses := map[string]string{}
	for server := range backend.Health() {
		if u, err := url.Parse(server); err == nil {
			addresses[u.Host+u.Path] = server
		}
	}
	for address, server := range addresses {
		t.gaugeOfAll("svc_upstream_up", "Whether requests go to a model server, or it is left alone because it failed.",
			map[string]string{"server_address": address}, slices.Min, func() float64 {
				if backend.Health()[server] {
					return 1
				}
				return 0
			})
	}
}
