package generation

import (
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/fault"
)

// The limits of metadata: the tags that callers put on responses, chat completions
// and conversations. Tags are echoed and never shown to a model. Lengths are in
// characters.
const (
	maxTags     = 16
	maxTagKey   = 64
	maxTagValue = 512
)

// CheckMetadata returns an Invalid error about the field metadata where there are
// too many tags or one is too long.
func CheckMetadata(tags map[string]string) error {
	if len(tags) > maxTags {
		return fault.Invalidf("metadata", "metadata must have at most %d keys; it has %d.", maxTags, len(tags))
	}
	for _, key := range slices.Sorted(maps.Keys(tags)) {
		if n := utf8.RuneCountInString(key); n > maxTagKey {
			return fault.Invalidf("metadata", "A metadata key must have at most %d characters; %.20q… has %d.", maxTagKey, key, n)
		}
		if n := utf8.RuneCountInString(tags[key]); n > maxTagValue {
			return fault.Invalidf("metadata."+key, "A metadata value must have at most %d characters; that of %q has %d.", maxTagValue, key, n)
		}
	}
	return nil
}

// MetadataOrEmpty returns tags, or an empty map for nil: metadata is never null on
// the wire.
func MetadataOrEmpty(tags map[string]string) map[string]string {
	if tags == nil {
		return map[string]string{}
	}
	return tags
}
