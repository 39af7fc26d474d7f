package mcptools_test

import (
	"testing"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// BenchmarkOffered makes turns with a history of a few turns: without tools, and with a
// server whose tools were listed before and are not called.
func BenchmarkOffered(b *testing.B) {
	for name, tools := range map[string]string{"without": "", "with": "," + free} {
		b.Run(name, func(b *testing.B) {
			s := newTools(b)
			e := newEnv(b, named(s.URL))
			e.script.Respond = func(*model.Request) modeltest.Answer { return modeltest.Text("Fine.") }
			last := e.turn(`"input":"Hi."` + tools).ID
			for range 10 {
				last = e.turn(`"input":"Go on.","previous_response_id":"` + last + `"` + tools).ID
			}
			for b.Loop() {
				e.turn(`"input":"Go on.","previous_response_id":"` + last + `"` + tools)
			}
			if _, lists := s.called(); lists > 1 {
				b.Errorf("listed %d times", lists)
			}
		})
	}
}
