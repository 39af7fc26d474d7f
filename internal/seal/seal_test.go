package seal

import (
	"bytes"
	"testing"

	"github.com/matryer/is"
)

func TestSealAndOpen(t *testing.T) {
	is := is.New(t)
	key, other := bytes.Repeat([]byte{1}, KeySize), bytes.Repeat([]byte{2}, KeySize)
	sealed, err := Seal(key, []byte("a secret"), []byte("org_1"))
	is.NoErr(err)
	is.True(!bytes.Contains(sealed, []byte("secret")))
	plain, err := Open(key, sealed, []byte("org_1"))
	is.NoErr(err)
	is.Equal(string(plain), "a secret")
	changed := bytes.Clone(sealed)
	changed[len(changed)-1] ^= 1
	for _, wrong := range []struct{ key, sealed, context []byte }{
		{other, sealed, []byte("org_1")}, {key, sealed, []byte("org_2")}, {key, changed, []byte("org_1")}, {key, nil, []byte("org_1")}, {key[1:], sealed, []byte("org_1")},
	} {
		_, err := Open(wrong.key, wrong.sealed, wrong.context)
		is.True(err != nil)
	}
	_, err = Seal(nil, nil, nil)
	is.True(err != nil)
}
