package openai

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc/internal/o200k"
	"github.com/seed-506d8e5d/svc/model"
)

func TestPiecesHaveAsManyTokensAsTheWhole(t *testing.T) {
	b := &Backend{counts: newCache()}
	for name, text := range map[string]string{
		"prose":         strings.Repeat("The quick brown fox jumps over the lazy dog. ", 2000),
		"one character": strings.Repeat("x", 100_000),
		"wide ones":     strings.Repeat("漢字", 10_000),
	} {
		got, want := b.estimateText(text), o200k.Count(text)
		if off := got - want; off < 0 || off > want/500+8 {
			t.Errorf("%s: got %d, want %d", name, got, want)
		}
	}
}

func TestCountingStopsOverTheWindow(t *testing.T) {
	b := &Backend{counts: newCache()}
	var long strings.Builder
	for i := range 1 << 20 {
		long.WriteString(strings.Repeat(" ", 1+i%5))
		long.WriteByte('x')
	}
	req := &model.Request{Messages: []model.Message{model.TextMessage(model.User, long.String())}}
	start := time.Now()
	count, err := b.estimate(t.Context(), req, 1000)
	if err != nil || count <= 1000 || count > 1000+countPiece {
		t.Errorf("got %d, %v, after %v", count, err, time.Since(start))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if count, err := b.estimate(ctx, req, 1<<30); err != context.Canceled || count > 100 {
		t.Errorf("for nobody: got %d, %v", count, err)
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a b", 70)
	f.Fuzz(func(t *testing.T, text string, size int) {
		size = 70 + max(size, 0)%100
		var all strings.Builder
		for rest := text; rest != ""; {
			var piece string
			if piece, rest = cut(rest, size); piece == "" || len(piece) > size {
				t.Fatalf("a piece of %d bytes, at most %d", len(piece), size)
			}
			all.WriteString(piece)
		}
		if all.String() != text {
			t.Error("the pieces are not the text")
		}
	})
}

func TestCountsOfAHistoryAreKept(t *testing.T) {
	b := &Backend{counts: newCache()}
	req := &model.Request{}
	for n := range 6400 {
		req.Messages = append(req.Messages, model.TextMessage(model.User, fmt.Sprint("Order ", n)))
	}
	for range 2 {
		if _, err := b.estimate(t.Context(), req, 1<<30); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 6400 {
		text := fmt.Sprint("Order ", n)
		if count, ok := b.counts.get(b.counts.key(text)); !ok || count != o200k.Count(text) {
			t.Fatalf("%q: got %d, %v", text, count, ok)
		}
	}
}

// BenchmarkCountHistory counts a history of 6,400 short items, as each of its
// turns does.
func BenchmarkCountHistory(b *testing.B) {
	backend := &Backend{counts: newCache()}
	req := &model.Request{}
	for n := range 6400 {
		req.Messages = append(req.Messages, model.TextMessage(model.User, fmt.Sprint("What came of order number ", n, ", which I asked about yesterday?")))
	}
	for b.Loop() {
		if _, err := backend.estimate(b.Context(), req, 1<<30); err != nil {
			b.Fatal(err)
		}
	}
}
