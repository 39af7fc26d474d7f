package docxtext

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
)

// compoundMagic begins a compound file: an encrypted .docx is one, and so is a
// legacy .doc under the wrong name.
const compoundMagic = "\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"

// refuseCompound returns [ErrPassword] if the compound file holds an encrypted
// package and [ErrFormat] otherwise. It looks for the directory entry by its
// bytes: entries lie at multiples of 128.
func refuseCompound(ctx context.Context, r io.ReaderAt, size int64) error {
	const entry = 128
	name := make([]byte, 0, 34)
	for _, c := range "EncryptedPackage\x00" {
		name = append(name, byte(c), 0)
	}
	buf := make([]byte, 512*entry)
	for off := int64(0); off < size; off += int64(len(buf)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), size-off)], off)
		for e := 0; e < n; e += entry {
			if bytes.HasPrefix(buf[e:n], name) {
				return ErrPassword
			}
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
	}
	return fmt.Errorf("%w: it is a compound file", ErrFormat)
}
