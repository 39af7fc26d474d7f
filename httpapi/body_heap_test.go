//go:build !race

package httpapi

import (
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestABodyCostsThreeTimesItsSize follows the heap while large bodies are on their
// way to a model. The body that is sent is not counted. The race detector has pools
// forget at random, so that nothing can be said of it there. The heap has what was
// not collected in time, too, which depends on what else the machine does: of some
// tries the least counts.
func TestABodyCostsThreeTimesItsSize(t *testing.T) {
	const (
		size = 4 << 20
		most = 3*size + size/8 // with what a request costs that has no body to speak of

		tries = 8
	)
	a := newBareAPI(t, svc.Options{Backend: modeltest.New()}, Options{})
	_, key := newLimited(t, a, 0, 0)
	for name, text := range map[string]string{
		"words":   strings.Repeat("word ", size/5),
		"spaces":  strings.Repeat(" ", size),
		"escapes": strings.Repeat(`\n`, size/2),
	} {
		for path, body := range map[string]string{
			"/v1/chat/completions": `{"model":"svc-preview","messages":[{"role":"user","content":"` + text + `"}]}`,
			"/v1/responses":        `{"model":"svc-preview","input":[{"role":"user","content":"` + text + `"}]}`,
			decisionsPath:          `{"model":"svc-snap-preview","state":"` + text + `","questions":{"q":{"type":"noul","instructions":"x"}}}`,
		} {
			t.Run(name+" "+path, func(t *testing.T) {
				least := uint64(math.MaxUint64)
				for try := 0; try < tries && least > most; try++ {
					w := watchHeap()
					r := httptest.NewRequest("POST", path, strings.NewReader(body))
					r.Header.Set("Authorization", "Bearer "+key)
					recorder := httptest.NewRecorder()
					a.ServeHTTP(recorder, r)
					least = min(least, w.growth())
					if recorder.Code != 400 {
						t.Fatalf("got %d: %.200s", recorder.Code, recorder.Body)
					}
				}
				if least > most {
					t.Errorf("the heap grew by %.2f times the body", float64(least)/size)
				}
			})
		}
	}
}
