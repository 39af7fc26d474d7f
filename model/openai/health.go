package openai

import "github.com/sony/gobreaker/v2"

// Health says of each server, by its URL, whether requests go to it at present:
// one that kept failing is left alone for a while.
func (b *Backend) Health() map[string]bool {
	health := make(map[string]bool, len(b.servers))
	for _, s := range b.servers {
		health[s.URL] = s.breaker.State() != gobreaker.StateOpen
	}
	return health
}
