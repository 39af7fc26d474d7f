package files

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

func TestADocumentIsProcessed(t *testing.T) {
	e := newEnv(t, shouting)
	f := e.create("application/pdf", "some text")
	equal(t, f.Status, Uploaded)
	f.Status = Processed
	equal(t, e.settle(f.ID), f)
	text, err := e.Text(t.Context(), one, f.ID)
	ok(t, err)
	equal(t, text, "SOME TEXT")
	equal(t, e.content(f.ID), "some text")
	equal(t, keys(t, e.store), []string{"f/b/blob_00001/\x00\x00\x00\x00", "f/b/blob_00002/\x00\x00\x00\x00", "f/m/file_00001"})
	for _, line := range []string{
		`level=INFO msg="extraction started" organization=org_1 file=file_00001 format=pdf bytes=9`,
		`level=INFO msg="extraction done" organization=org_1 file=file_00001 format=pdf duration=`, ` pages=1 characters=9 note=""`,
	} {
		if !strings.Contains(e.logs.String(), line) {
			t.Errorf("the log lacks %s:\n%s", line, e.logs)
		}
	}
}

func TestWhatBecomesOfADocument(t *testing.T) {
	for _, c := range []struct {
		rule    string
		extract extractorFunc
		status  Status
		reason  Reason
		note    Note
		text    string
	}{
		{"a scan", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{Text: " \f", Pages: 1}, nil
		}, Processed, "", NoText, " \f"},
		{"a damaged one", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{Text: "rest", Partial: true}, nil
		}, Processed, "", Partial, "rest"},
		{"text that is not UTF-8", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{Text: "a\xffb"}, nil
		}, Processed, "", "", "a\ufffdb"},
		{"a long text", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{Text: strings.Repeat("x", 2*batchSize+1)}, nil
		}, Processed, "", "", strings.Repeat("x", 2*batchSize+1)},
		{"too long a text", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{Text: strings.Repeat("x", MaxText+1)}, nil
		}, Failed, TooLarge, "", ""},
		{"a password", func(context.Context, []byte, Format) (Extracted, error) {
			return Extracted{}, fmt.Errorf("wrapped: %w", &Unreadable{Password, errBroken})
		}, Failed, Password, "", ""},
		{"a panic", func(context.Context, []byte, Format) (Extracted, error) { panic("at page 3") }, Failed, Crashed, "", ""},
	} {
		t.Run(c.rule, func(t *testing.T) {
			e := newEnv(t, c.extract)
			f := e.settle(e.create("application/msword", "x").ID)
			equal(t, f, File{ID: "file_00001", Bytes: 1, CreatedAt: start.Unix(), Filename: "a", MIMEType: "application/msword",
				Purpose: Purpose, Status: c.status, Reason: c.reason, Note: c.note})
			text, err := e.Text(t.Context(), one, f.ID)
			if text != c.text || (err == nil) != (c.status == Processed) {
				t.Errorf("got the text %.20q of %d bytes, %v", text, len(text), err)
			}
			if logged := strings.Contains(e.logs.String(), `msg="extraction failed"`); logged != (c.status == Failed) {
				t.Errorf("the log:\n%s", e.logs)
			}
		})
	}
}

// TestACauseThatCanPassIsTriedAgain fails twice, or always.
func TestACauseThatCanPassIsTriedAgain(t *testing.T) {
	for _, failures := range []int{2, 3} {
		synctest.Test(t, func(t *testing.T) {
			store := memstore.New()
			defer store.Close()
			tries := 0
			flaky := extractorFunc(func(context.Context, []byte, Format) (Extracted, error) {
				if tries++; tries <= failures {
					return Extracted{}, errBroken
				}
				return Extracted{Text: "text"}, nil
			})
			e := newEnvOver(t, store, Options{Extractor: flaky})
			began := time.Now()
			f := e.settle(e.create("application/pdf", "x").ID)
			equal(t, time.Since(began), 6*time.Second)
			if failures == 2 {
				equal(t, f.Status, Processed)
				ok(t, e.Close())
				return
			}
			equal(t, f.Status, Failed)
			equal(t, f.Reason, Unavailable)
			_, err := e.Stored(t.Context(), one, f.ID)
			equal(t, err, error(fault.Invalidf("", `The file "file_00001" could not be read. It could not be tried; try again later.`)))
			ok(t, e.Close())

			e = newEnvOver(t, store, Options{Extractor: flaky})
			f = e.settle(f.ID)
			equal(t, f.Status, Processed)
			equal(t, f.Reason, "")
			ok(t, e.Close())
		})
	}
}

func TestAnExtractionThatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		e := newEnvOver(t, store, Options{Timeout: 7 * time.Second, Extractor: extractorFunc(func(ctx context.Context, _ []byte, _ Format) (Extracted, error) {
			<-ctx.Done()
			return Extracted{}, ctx.Err()
		})})
		began := time.Now()
		f := e.settle(e.create("application/pdf", "x").ID)
		equal(t, time.Since(began), 7*time.Second)
		equal(t, f.Status, Failed)
		equal(t, f.Reason, TimedOut)
		ok(t, e.Close())
	})
}

// TestARestartResumesAnExtraction closes a service in the middle of one.
func TestARestartResumesAnExtraction(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	begun := make(chan struct{})
	e := newEnvOver(t, store, Options{Extractor: extractorFunc(func(ctx context.Context, _ []byte, _ Format) (Extracted, error) {
		close(begun)
		<-ctx.Done()
		return Extracted{}, ctx.Err()
	})})
	id := e.create("application/pdf", "x").ID
	<-begun
	ok(t, e.Close())
	f, err := e.Get(t.Context(), one, id)
	ok(t, err)
	equal(t, f.Status, Uploaded)

	e = newEnvOver(t, store, Options{Extractor: shouting})
	equal(t, e.settle(id).Status, Processed)
}

// failingStore fails its updates where fail says so.
type failingStore struct {
	storage.Store
	mu   sync.Mutex
	fail func() bool
}

func (s *failingStore) Update(ctx context.Context, ns storage.Namespace, fn func(storage.Tx) error) error {
	s.mu.Lock()
	fails := s.fail != nil && s.fail()
	s.mu.Unlock()
	if fails {
		return storage.ErrConflict
	}
	return s.Store.Update(ctx, ns, fn)
}

// TestAResultThatCannotBeStoredIsTriedAgain fails each write of a result once.
func TestAResultThatCannotBeStoredIsTriedAgain(t *testing.T) {
	for failing := range 2 {
		synctest.Test(t, func(t *testing.T) {
			memory := memstore.New()
			defer memory.Close()
			store := &failingStore{Store: memory}
			e := newEnvOver(t, store, Options{Extractor: extractorFunc(func(context.Context, []byte, Format) (Extracted, error) {
				store.mu.Lock()
				defer store.mu.Unlock()
				left := failing
				store.fail = func() bool { left--; return left == -1 }
				failing = -1
				return Extracted{Text: "text"}, nil
			})})
			defer e.Close()
			f := e.settle(e.create("application/pdf", "x").ID)
			equal(t, f.Status, Processed)
			equal(t, len(keys(t, memory)), 3)
		})
	}
}

func TestAnUploadTheStoreRefusesLeavesNothing(t *testing.T) {
	for failing := range 4 {
		memory := memstore.New()
		store := &failingStore{Store: memory}
		e := newEnvOver(t, store, Options{})
		left := failing
		store.fail = func() bool { left--; return left == -1 }
		u := upload("text/plain", "")
		u.Content = &zeros{n: 2*batchSize + 1}
		_, err := e.Create(t.Context(), one, u)
		equal(t, fault.From(err).Kind, fault.Unavailable)
		equal(t, keys(t, memory), []string{})
		ok(t, e.Close())
		ok(t, memory.Close())
	}
}

// TestRecoverRemovesWhatIsNoFiles leaves an upload and a deletion unfinished.
func TestRecoverRemovesWhatIsNoFiles(t *testing.T) {
	memory := memstore.New()
	defer memory.Close()
	store := &failingStore{Store: memory}
	e := newEnvOver(t, store, Options{})
	f := e.create("text/plain", "x")
	_, err := e.Stage(t.Context(), one, "b", "text/plain", strings.NewReader("y"))
	ok(t, err)
	updates := 0
	store.fail = func() bool { updates++; return updates > 1 }
	ok(t, e.Delete(t.Context(), one, f.ID))
	_, err = e.Get(t.Context(), one, f.ID)
	equal(t, err, missing("not_found", f.ID))
	equal(t, keys(t, memory), []string{"f/b/blob_00001/\x00\x00\x00\x00", "f/b/blob_00002/\x00\x00\x00\x00", "f/g/blob_00001", "f/g/blob_00002"})
	ok(t, e.Close())

	newEnvOver(t, memory, Options{})
	equal(t, keys(t, memory), []string{})
}

func TestOrganizationsTakeTurns(t *testing.T) {
	q := newQueue(1)
	for _, j := range []job{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "1"}, {"c", "1"}, {"b", "2"}} {
		q.push(j)
	}
	var got []job
	for range 6 {
		j, taken := q.next(t.Context())
		equal(t, taken, true)
		q.leave(j)
		got = append(got, j)
	}
	equal(t, got, []job{{"a", "1"}, {"b", "1"}, {"c", "1"}, {"a", "2"}, {"b", "2"}, {"a", "3"}})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, taken := q.next(ctx)
	equal(t, taken, false)
}

func TestOneOrganizationLeavesAWorkerToOthers(t *testing.T) {
	q := newQueue(3)
	for _, j := range []job{{"a", "1"}, {"a", "2"}, {"a", "3"}, {"b", "1"}} {
		q.push(j)
	}
	var got []job
	for range 4 {
		if j, taken := q.take(); taken {
			got = append(got, j)
		}
	}
	equal(t, got, []job{{"a", "1"}, {"b", "1"}, {"a", "2"}})
	q.leave(got[0])
	j, _ := q.take()
	equal(t, j, job{"a", "3"})
}

func TestStoredWaitsForAFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		e := newEnvOver(t, store, Options{Workers: 1, Extractor: extractorFunc(func(context.Context, []byte, Format) (Extracted, error) {
			time.Sleep(8 * time.Second)
			return Extracted{Text: "text"}, nil
		})})
		defer e.Close()
		first, second := e.create("application/pdf", "x"), e.create("application/pdf", "y")
		d, err := e.Stored(t.Context(), one, first.ID)
		ok(t, err)
		equal(t, d, model.Document{Name: "a", Text: "text"})

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = e.Stored(ctx, one, second.ID)
		equal(t, err, context.DeadlineExceeded)

		third := e.create("application/pdf", "z")
		_, err = e.Stored(t.Context(), one, third.ID)
		equal(t, err, error(fault.Invalidf("", `The file "file_00003" is still being processed; try again when its status is processed.`)))
		d, err = e.Stored(t.Context(), one, third.ID)
		ok(t, err)
		equal(t, d.Text, "text")
	})
}

func TestStoredOfAFileThatIsNotThere(t *testing.T) {
	e := newEnv(t, nil)
	id := e.create("text/plain", "x").ID
	for _, c := range []struct {
		caller accounts.Caller
		id     string
	}{{one, "file_9"}, {one, ""}, {other, id}} {
		_, err := e.Stored(t.Context(), c.caller, c.id)
		equal(t, err, missing("file_not_found", c.id))
	}
}

func TestInlineDocuments(t *testing.T) {
	e := newEnv(t, extractorFunc(func(_ context.Context, data []byte, format Format) (Extracted, error) {
		switch string(data) {
		case "locked":
			return Extracted{}, &Unreadable{Password, nil}
		case "busy":
			return Extracted{}, errBroken
		}
		return Extracted{Text: string(format) + " " + string(data)}, nil
	}))
	for _, c := range []struct {
		name, mimeType, data string
		want                 model.Document
		err                  error
	}{
		{"a.txt", "text/plain", "\xef\xbb\xbfhello", model.Document{Name: "a.txt", Text: "hello"}, nil},
		{"A.CSV", "", "a,b", model.Document{Name: "A.CSV", Text: "a,b"}, nil},
		{"a.pdf", "", "x", model.Document{Name: "a.pdf", Text: "pdf x"}, nil},
		{"", "application/msword", "x", model.Document{Text: "word x"}, nil},
		{"a", "", "x", model.Document{}, unsupported(`Files of the type "" are not supported; plain text, Markdown, CSV, TSV, JSON, JSONL, XML, PDF and Word documents are.`)},
		{"a.txt", "text/plain", "\xff", model.Document{}, fault.Invalidf("", "The file is not text in UTF-8, nor in UTF-16 with a byte order mark.")},
		{"a.docx", "", "locked", model.Document{}, fault.Invalidf("", "The document cannot be read. It is protected by a password.")},
		{"a.docx", "", "busy", model.Document{}, &fault.Error{Kind: fault.Unavailable, Code: "service_unavailable", RetryAfter: time.Second, Message: "The document could not be read now. Try again."}},
	} {
		got, err := e.Inline(t.Context(), c.name, c.mimeType, []byte(c.data))
		if f, isFault := errors.AsType[*fault.Error](err); isFault {
			clone := *f
			clone.Err = nil
			err = &clone
		}
		equal(t, got, c.want)
		equal(t, err, c.err)
	}
	equal(t, keys(t, e.store), []string{})
}

// TestInlineDocumentsWaitForEachOther has as many readers as workers.
func TestInlineDocumentsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := memstore.New()
		defer store.Close()
		e := newEnvOver(t, store, Options{Workers: 1, Extractor: extractorFunc(func(ctx context.Context, _ []byte, _ Format) (Extracted, error) {
			select {
			case <-ctx.Done():
				return Extracted{}, ctx.Err()
			case <-time.After(20 * time.Second):
			}
			return Extracted{Text: "text"}, nil
		})})
		defer e.Close()
		var group sync.WaitGroup
		var mu sync.Mutex
		results := map[string]int{}
		for range 3 {
			group.Go(func() {
				_, err := e.Inline(t.Context(), "a.pdf", "", nil)
				mu.Lock()
				defer mu.Unlock()
				results[fmt.Sprint(time.Since(start2000).Round(time.Second), " ", err)]++
			})
		}
		group.Wait()
		equal(t, results, map[string]int{
			"20s <nil>": 1, "40s <nil>": 1, "30s The document could not be read now. Try again.": 1,
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := e.Inline(ctx, "a.pdf", "", nil)
		equal(t, err, context.DeadlineExceeded)
	})
}

// start2000 is when a bubble of testing/synctest begins.
var start2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// TestManyAtOnce uploads, reads, lists and deletes from many goroutines.
func TestManyAtOnce(t *testing.T) {
	store := memstore.New()
	defer store.Close()
	e := newEnvOver(t, store, Options{Extractor: shouting, Workers: 2})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for j := range 20 {
				content := fmt.Sprintf("file %d of %d", j, i)
				f, err := e.Create(t.Context(), one, upload("application/pdf", content))
				if err != nil {
					t.Error(err)
					return
				}
				if d, err := e.Stored(t.Context(), one, f.ID); err != nil || d.Text != strings.ToUpper(content) {
					t.Errorf("got %q, %v, want %q in upper case", d.Text, err, content)
				}
				if _, err := e.List(t.Context(), one, "", page.Params{Limit: 10, Desc: true}); err != nil {
					t.Error(err)
				}
				if err := e.Delete(t.Context(), one, f.ID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	equal(t, keys(t, store), []string{})
}
