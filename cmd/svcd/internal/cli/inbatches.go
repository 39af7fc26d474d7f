package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/seed-506d8e5d/svc/batches"
)

// rowsOfPart are rows whose requests go into one batch.
type rowsOfPart struct {
	part
	first int // number of the first row, from 0
	rows  []*row
}

// decideInBatches asks about the rows in batches, one after the other, and writes those
// behind the first done ones in their order.
func (d *deciding) decideInBatches(ctx context.Context, in *rows, out io.Writer, done int) error {
	progress := d.steps("rows", done, in.total)
	defer progress.end()
	var next *row
	for first := 0; ; {
		p := &rowsOfPart{first: first}
		var err error
		if next, err = d.fill(ctx, in, p, next); err != nil {
			return err
		}
		first += len(p.rows)
		switch {
		case next == nil && first < done:
			return fmt.Errorf("the rows end before those of %s", d.outFile)
		case first > done:
			if err := d.decidePart(ctx, p, out, max(done-p.first, 0), progress); err != nil {
				return err
			}
		}
		if next == nil {
			return nil
		}
	}
}

// fill puts rows into a part, beginning with the one that is given. It returns the
// first row that has no room, nil where there are no more.
func (d *deciding) fill(ctx context.Context, in *rows, p *rowsOfPart, r *row) (*row, error) {
	for {
		if r == nil {
			var err error
			if r, err = in.next(ctx); errors.Is(err, io.EOF) {
				return nil, nil
			} else if err != nil {
				return nil, err
			}
		}
		if len(p.rows) == batches.MaxLines {
			return r, nil
		}
		if r.err == nil {
			added, err := p.add(request{p.id(len(p.rows)), d.body(d.questions, r.state)})
			if err != nil || !added {
				return r, err
			}
			r.state = nil // the request has it
		}
		p.rows = append(p.rows, r)
		r = nil
	}
}

// id returns the custom_id of a row of the part: its number among all rows, from 1.
func (p *rowsOfPart) id(i int) string { return strconv.Itoa(p.first + i + 1) }

// decidePart has the rows of a part answered and writes those behind the first done
// ones.
func (d *deciding) decidePart(ctx context.Context, p *rowsOfPart, out io.Writer, done int, progress *steps) error {
	b := &batchRun{session: d.session, part: &p.part, progress: progress, unneeded: map[string]bool{}}
	for i := range done {
		b.unneeded[p.id(i)] = true
	}
	if err := b.answer(ctx); err != nil {
		return err
	}
	for i, r := range p.rows[done:] {
		a := b.answers[p.id(done+i)]
		if r.err != nil {
			var err error
			if a, err = r.unreadable(); err != nil {
				return err
			}
			progress.step()
		}
		if err := d.write(out, r, a); err != nil {
			return err
		}
	}
	return b.done(ctx)
}

// askInBatches asks a model about all rows in batches, one after the other.
func (e *evaluating) askInBatches(ctx context.Context, rows []evalRow, reversed json.RawMessage, keep *keeper) ([]evalAnswer, error) {
	answers := make([]evalAnswer, len(rows))
	known := keep.known(e.model, answers)
	each := 1
	if reversed != nil {
		each = 2
	}
	progress := e.steps("answers by "+e.model, each*len(known), each*len(rows))
	defer progress.end()
	for first := 0; first < len(rows); {
		p, end, err := e.evalPart(rows, first, reversed)
		if err != nil {
			return nil, err
		}
		b := &batchRun{session: e.session, part: p, progress: progress, unneeded: map[string]bool{}}
		for i := first; i < end; i++ {
			if known[i] {
				b.unneeded[straight(i)], b.unneeded[turned(i)] = true, true
			}
		}
		if err := b.answer(ctx); err != nil {
			return nil, err
		}
		e.runs = append(e.runs, b)
		for i := first; i < end; i++ {
			if known[i] {
				continue
			}
			var other *answered
			if a, ok := b.answers[turned(i)]; ok {
				other = &a
			}
			if answers[i], err = e.answer(b.answers[straight(i)], other); err != nil {
				return nil, err
			}
			if err := keep.add(e.model, i, answers[i]); err != nil {
				return nil, err
			}
		}
		b.answers = nil
		first = end
	}
	return answers, nil
}

// straight and turned are the custom_ids of the requests about a row.
func straight(i int) string { return strconv.Itoa(i + 1) }
func turned(i int) string   { return strconv.Itoa(i+1) + " reversed" }

// evalPart returns the requests about rows from first on, and the first row that has no
// room.
func (e *evaluating) evalPart(rows []evalRow, first int, reversed json.RawMessage) (p *part, end int, err error) {
	p = &part{}
	for end = first; end < len(rows); end++ {
		requests := []request{{straight(end), e.body(e.questions, rows[end].state)}}
		if reversed != nil {
			requests = append(requests, request{turned(end), e.body(reversed, rows[end].state)})
		}
		if added, err := p.add(requests...); err != nil || !added {
			return p, end, err
		}
	}
	return p, end, nil
}
