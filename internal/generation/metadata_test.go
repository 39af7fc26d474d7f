package generation

import (
	"fmt"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
)

func tags(n int) map[string]string {
	m := map[string]string{}
	for i := range n {
		m[fmt.Sprint(i)] = "x"
	}
	return m
}

func TestLimitsAreInclusiveAndInCharacters(t *testing.T) {
	for _, m := range []map[string]string{
		nil,
		tags(maxTags),
		{strings.Repeat("é", maxTagKey): strings.Repeat("日", maxTagValue)},
		{"": ""},
	} {
		is.New(t).NoErr(CheckMetadata(m))
	}
}

func TestTagsBeyondALimitAreInvalid(t *testing.T) {
	long := strings.Repeat("k", maxTagKey+1)
	for _, c := range []struct {
		tags map[string]string
		want *fault.Error
	}{
		{tags(maxTags + 1), fault.Invalidf("metadata", "metadata must have at most 16 keys; it has 17.")},
		{map[string]string{long: ""}, fault.Invalidf("metadata", "A metadata key must have at most 64 characters; \"kkkkkkkkkkkkkkkkkkkk\"… has 65.")},
		{map[string]string{"a": strings.Repeat("v", maxTagValue+1)},
			fault.Invalidf("metadata.a", "A metadata value must have at most 512 characters; that of \"a\" has 513.")},
	} {
		is.New(t).Equal(CheckMetadata(c.tags), c.want)
	}
}

func TestMetadataOrEmptyIsNeverNil(t *testing.T) {
	is := is.New(t)
	is.Equal(MetadataOrEmpty(nil), map[string]string{})
	is.Equal(MetadataOrEmpty(map[string]string{"a": "b"}), map[string]string{"a": "b"})
}
