// Package metadata holds the spec's rules for the tags that callers put on
// responses, chat completions and conversations. Tags are echoed and never
// shown to a model.
package metadata

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
)

// The limits of the spec. Lengths are in characters.
const (
	MaxTags  = 16
	MaxKey   = 64
	MaxValue = 512
)

// Check returns an Invalid error about the field metadata when there are too
// many tags or one is too long.
func Check(tags map[string]string) error {
	if len(tags) > MaxTags {
		return fault.Invalidf("metadata", "metadata must have at most %d keys; it has %d.", MaxTags, len(tags))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if n := utf8.RuneCountInString(key); n > MaxKey {
			return fault.Invalidf("metadata", "A metadata key must have at most %d characters; %.20q… has %d.", MaxKey, key, n)
		}
		if n := utf8.RuneCountInString(tags[key]); n > MaxValue {
			return fault.Invalidf("metadata."+key, "A metadata value must have at most %d characters; that of %q has %d.", MaxValue, key, n)
		}
	}
	return nil
}

// OrEmpty returns tags, or an empty map for nil: metadata is never null on the
// wire.
func OrEmpty(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}
