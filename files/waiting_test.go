package files

import "testing"

func TestWaiting(t *testing.T) {
	s := &Service{queue: newQueue(1)}
	for _, j := range []job{{"a", "1"}, {"a", "2"}, {"b", "3"}} {
		s.queue.push(j)
	}
	if _, ok := s.queue.take(); !ok {
		t.Fatal("there is no job")
	}
	if got := s.Waiting(); got != 2 {
		t.Errorf("%d files wait, want 2", got)
	}
}
