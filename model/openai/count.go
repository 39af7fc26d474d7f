package openai

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/seed-506d8e5d/svc/internal/o200k"
	"github.com/seed-506d8e5d/svc/model"
)

const (
	// countPiece is how many bytes of a text are counted at a time by the built-in
	// vocabulary, tokenizePiece by a server's tokenizer: between them it is seen
	// whether there is still somebody to count for, and anything left to find out.
	countPiece    = 16 << 10
	tokenizePiece = 256 << 10
)

// estimate counts the tokens of a prompt by the built-in vocabulary, up to where
// there are more than most. It ends with ctx, whose error it returns.
func (b *Backend) estimate(ctx context.Context, req *model.Request, most int) (int, error) {
	type key struct{}
	count := req.Sum(key{}, func(part *model.Request) (int, bool) {
		sum := 0
		around := model.PromptTokens(part, func(text string) int {
			if sum <= most && ctx.Err() == nil {
				sum += b.estimateUpTo(ctx, text, most-sum)
			}
			return 0
		})
		most -= sum
		return sum + around, most >= 0 && ctx.Err() == nil
	})
	return count, ctx.Err()
}

// estimateText counts the tokens of a text. Histories repeat from turn to turn,
// so counts are kept, of the shortest texts too: a long history has thousands.
func (b *Backend) estimateText(text string) int {
	return b.estimateUpTo(context.Background(), text, len(text))
}

func (b *Backend) estimateUpTo(ctx context.Context, text string, most int) int {
	if text == "" {
		return 0
	}
	key := b.counts.key(text)
	if count, ok := b.counts.get(key); ok {
		return count
	}
	count, last, lastCount := 0, "", 0
	for rest := text; rest != ""; {
		if count > most || ctx.Err() != nil {
			return count
		}
		var piece string
		piece, rest = cut(rest, countPiece)
		if piece != last { // runs of one character take the longest to count
			last, lastCount = piece, o200k.Count(piece)
		}
		count += lastCount
	}
	b.counts.put(key, count)
	return count
}

// cut cuts a text in two, the first of at most size bytes: at a space where there
// is one near the end, for the sake of the tokens there, and in any case not in a
// character.
func cut(text string, size int) (piece, rest string) {
	const near = 64
	if len(text) <= size {
		return text, ""
	}
	at := size
	for at > size-utf8.UTFMax && !utf8.RuneStart(text[at]) {
		at--
	}
	if i := strings.LastIndexByte(text[at-near:at], ' '); i > 0 {
		at -= near - i
	}
	return text[:at], text[at:]
}
