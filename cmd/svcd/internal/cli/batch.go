package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/internal/background"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

const (
	decideEndpoint = "/v1/systemone"

	// batchTag is the metadata of a batch by which a run finds it again: the hash of
	// the requests that it was made for.
	batchTag = "svcd_requests"
	// outputsKept is how long the server keeps the answers of a run that never comes
	// back for them.
	outputsKept = 30 * 24 * time.Hour
	// partBytes bounds the requests of one batch, with room for what the server counts
	// besides.
	partBytes = files.MaxBatch * 9 / 10

	slowestPoll   = 5 * time.Second
	serverMayFail = 10 * time.Minute // how long a run waits for a server that does not answer
)

// part is requests that go into one batch: those with no answer yet. A request is
// named by its custom_id, which says the same in every run over the same rows.
type part struct {
	ids   []string
	lines [][]byte // each with its end
	bytes int
}

// request is one request of a part.
type request struct {
	id   string
	body any
}

// add adds requests that belong together, unless the part is full.
func (p *part) add(requests ...request) (added bool, err error) {
	lines, size := make([][]byte, len(requests)), 0
	for i, r := range requests {
		line, err := json.Marshal(map[string]any{"custom_id": r.id, "method": "POST", "url": decideEndpoint, "body": r.body})
		if err != nil {
			return false, err
		}
		lines[i] = append(line, '\n')
		size += len(lines[i])
	}
	if len(p.lines) > 0 && (len(p.lines)+len(lines) > batches.MaxLines || p.bytes+size > partBytes) {
		return false, nil
	}
	for i, r := range requests {
		p.ids, p.lines = append(p.ids, r.id), append(p.lines, lines[i])
	}
	p.bytes += size
	return true, nil
}

// hash identifies the requests.
func (p *part) hash() string {
	h := sha256.New()
	for _, line := range p.lines {
		h.Write(line)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// batchRun has the requests of a part answered in batches of the server.
type batchRun struct {
	*session
	part     *part
	progress *steps

	tag      string
	unneeded map[string]bool     // custom_ids whose answers are not asked for
	answers  map[string]answered // by custom_id
	failed   error               // of the first request that could not be answered
	used     []string            // files that nobody needs once the answers are written
}

// answer waits for the answers to all requests of the part but the unneeded ones.
// Those that batches of earlier runs have, it takes from them; the others it asks for
// in a new batch.
func (b *batchRun) answer(ctx context.Context) error {
	b.tag, b.answers = b.part.hash(), map[string]answered{}
	earlier, err := b.earlier(ctx)
	if err != nil {
		return err
	}
	for _, one := range earlier {
		if one, err = b.wait(ctx, one); err != nil {
			return err
		}
		if err := b.take(ctx, one); err != nil {
			return err
		}
	}
	missing := b.missing()
	if len(missing) == 0 {
		return nil
	}
	b.failed = nil // what an earlier batch could not answer is asked again
	one, err := b.create(ctx, missing)
	if err == nil {
		one, err = b.wait(ctx, one)
	}
	if err == nil {
		err = b.take(ctx, one)
	}
	switch {
	case err != nil:
		return err
	case b.failed != nil:
		return b.failed
	case one.Status == batches.Failed && len(one.Problems) > 0:
		return b.refused(one, missing)
	case len(b.missing()) > 0:
		return fmt.Errorf("batch %s is %s, with %d of %d answers; the same command asks for the others", one.ID, one.Status, one.Completed, one.Total)
	}
	return nil
}

// refused says why a batch failed that was made of some requests.
func (b *batchRun) refused(one batches.Batch, at []int) error {
	p := one.Problems[0]
	request := ""
	if p.Line > 0 && p.Line <= len(at) {
		request = "request " + b.part.ids[at[p.Line-1]] + ": "
	}
	return fmt.Errorf("batch %s failed: %s%s (%s)", one.ID, request, p.Message, p.Code)
}

// missing returns the indexes of requests that have no answer and need one.
func (b *batchRun) missing() (at []int) {
	for i, id := range b.part.ids {
		if _, has := b.answers[id]; !has && !b.unneeded[id] {
			at = append(at, i)
		}
	}
	return at
}

// earlier returns the batches for the same requests that may have answers, the oldest
// first.
func (b *batchRun) earlier(ctx context.Context) (found []batches.Batch, err error) {
	oldest := time.Now().Add(-outputsKept).Unix()
	for p := (client.Page{Limit: batches.MaxPage, Desc: true}); ; {
		list, err := b.server.Batches(ctx, client.Caller{}, p)
		if err != nil {
			return nil, sentence(err)
		}
		for _, one := range list.Items {
			if one.CreatedAt < oldest {
				list.HasMore = false
				break
			}
			if one.Metadata[batchTag] == b.tag && (one.Status != batches.Failed || one.OutputFile != "") {
				found = append(found, one)
			}
			p.After = one.ID
		}
		if !list.HasMore {
			slices.Reverse(found)
			return found, nil
		}
	}
}

// create uploads requests and has the server begin.
func (b *batchRun) create(ctx context.Context, at []int) (one batches.Batch, err error) {
	file, err := os.CreateTemp("", "svcd-batch-*.jsonl") // which an upload reads again where it has to
	if err != nil {
		return one, err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	w := bufio.NewWriter(file)
	for _, i := range at {
		w.Write(b.part.lines[i]) // Flush has the error
	}
	if err := w.Flush(); err != nil {
		return one, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return one, err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	uploaded, err := b.server.UploadFile(ctx, client.Caller{}, files.Upload{
		Filename: "svcd.jsonl", MIMEType: "application/jsonl", Purpose: files.Batch, Content: file, ExpiresAfter: outputsKept,
	})
	if err == nil {
		one, err = b.server.CreateBatch(ctx, client.Caller{}, batches.NewBatch{
			Endpoint: decideEndpoint, InputFile: uploaded.ID, Metadata: map[string]string{batchTag: b.tag}, OutputsKept: int64(outputsKept.Seconds()),
		})
	}
	return one, sentence(err)
}

// wait waits until a batch has ended, and shows how far it is.
func (b *batchRun) wait(ctx context.Context, one batches.Batch) (batches.Batch, error) {
	before := b.progress.done
	pause, heard := pollEvery, time.Now()
	for !one.Status.Ended() {
		b.progress.reach(before + one.Completed + one.Failed)
		if !background.Sleep(ctx, pause) {
			return one, ctx.Err()
		}
		pause = min(2*pause, slowestPoll)
		now, err := b.server.Batch(ctx, client.Caller{}, one.ID)
		if err == nil {
			one, heard = now, time.Now()
			continue
		}
		switch fault.From(err).Kind {
		case fault.Unavailable, fault.Upstream, fault.Internal, fault.RateLimited:
			if time.Since(heard) < serverMayFail {
				continue
			}
		}
		return one, sentence(err)
	}
	b.progress.reach(before)
	return one, nil
}

// take takes the answers that a batch has.
func (b *batchRun) take(ctx context.Context, one batches.Batch) error {
	b.used = append(b.used, one.InputFile)
	for _, id := range []string{one.OutputFile, one.ErrorFile} {
		if id == "" {
			continue
		}
		_, content, err := b.server.FileContent(ctx, client.Caller{}, id)
		if fault.Is(err, fault.NotFound) {
			continue // a run has taken them and was done with them
		}
		if err != nil {
			return sentence(err)
		}
		b.used = append(b.used, id)
		if err := b.takeLines(content); err != nil {
			return fmt.Errorf("the answers of batch %s: %w", one.ID, err)
		}
	}
	return nil
}

func (b *batchRun) takeLines(content io.Reader) error {
	lines := bufio.NewReader(content)
	for {
		text, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(text)) > 0 {
			var line wire.BatchLine
			if err := json.Unmarshal(text, &line); err != nil {
				return err
			}
			if err := b.takeLine(&line); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// takeLine takes one answer: as a request that is made by itself is answered, or
// refused because the row does not fit. Anything else is no answer.
func (b *batchRun) takeLine(line *wire.BatchLine) error {
	_, has := b.answers[line.CustomID]
	switch {
	case has || line.Response == nil: // never ran
		return nil
	case line.Response.StatusCode < 300:
		a, err := readAnswer(line.Response.Body)
		if err != nil {
			return err
		}
		b.answers[line.CustomID] = a
	default:
		var body wire.DecisionError
		if err := json.Unmarshal(line.Response.Body, &body); err != nil {
			return err
		}
		if line.Response.StatusCode != 400 {
			b.failed = cmp.Or(b.failed, fmt.Errorf("request %s: %s", line.CustomID, body.Detail.Message))
			return nil
		}
		failure, err := refusedAs(body.Detail.Message)
		if err != nil {
			return err
		}
		b.answers[line.CustomID] = answered{answers: failure, refused: true}
	}
	if !b.unneeded[line.CustomID] {
		b.progress.step()
	}
	return nil
}

// done removes the files at the server: the answers have been written. A run over the
// same rows asks again from now on.
func (b *batchRun) done(ctx context.Context) error {
	for _, id := range b.used {
		if err := b.server.DeleteFile(ctx, client.Caller{}, id); err != nil && !fault.Is(err, fault.NotFound) {
			return sentence(err)
		}
	}
	return nil
}
