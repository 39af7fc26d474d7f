package badgerstore

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/storage"
)

// BenchmarkResponses writes what a stored response of about 1 KB is: a few
// records of one organization, one transaction after another. It prints what the
// process wrote for each, on average and in the worst 10,000 in a row, and what
// memory it has in the end.
//
//	go test ./storage/badgerstore -run - -bench Responses -benchtime 100000x
func BenchmarkResponses(b *testing.B) {
	s := openDir(b, b.TempDir())
	// Of files that are removed before they are written, badger's memory is mirrored in
	// some, nothing reaches the disk.
	written := func() uint64 {
		return processNumber(b, "io", "write_bytes") - processNumber(b, "io", "cancelled_write_bytes")
	}
	before := written()
	first, worst, from := before, uint64(0), 0
	for i := range b.N {
		if err := s.Update(b.Context(), "org", writeResponse); err != nil {
			b.Fatal(err)
		}
		if n := i + 1 - from; n == 10_000 || i+1 == b.N && worst == 0 {
			now := written()
			worst, before, from = max(worst, (now-before)/uint64(n)), now, i+1
		}
	}
	b.ReportMetric(float64(written()-first)/float64(b.N), "written-B/op")
	b.ReportMetric(float64(worst), "worst-written-B/op")
	b.ReportMetric(float64(processNumber(b, "status", "VmRSS"))/1024, "rss-MB")
	b.ReportMetric(float64(s.Stats().Syncs)/float64(b.N), "syncs/op")
}

// writeResponse writes a response's records, 1 KB in all.
func writeResponse(tx storage.Tx) error {
	name := fmt.Sprintf("%012x%s", time.Now().UnixNano(), rand.Text()[:12]) // IDs ascend
	text := make([]byte, 300)
	rand.Read(text)
	for _, part := range []string{"responses/", "items/1/", "items/2/"} {
		value := fmt.Appendf(nil, `{"id":%q,"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":%q}]}`, name, hex.EncodeToString(text[:75]))
		if err := tx.Set([]byte(part+name), value); err != nil {
			return err
		}
	}
	return tx.Set([]byte("ledger/"+name), []byte(`{"input_tokens":100,"output_tokens":100,"cost":100}`))
}

// processNumber reads a number from a file of /proc/self.
func processNumber(b *testing.B, file, field string) uint64 {
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		var n uint64
		if _, err := fmt.Sscanf(line, field+": %d", &n); err == nil {
			return n
		}
	}
	b.Fatalf("/proc/self/%s has no %s", file, field)
	return 0
}
