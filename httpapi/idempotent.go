package httpapi

import (
	"crypto/sha256"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/idempotency"
	"github.com/seed-506d8e5d/svc/internal/admission"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// maxIdempotencyKey is how many characters an Idempotency-Key may have.
const maxIdempotencyKey = 255

// errReplayed ends an endpoint whose request was answered by the answer to the
// first one with its key.
var errReplayed = errors.New("httpapi: answered as before")

// once claims the Idempotency-Key of a request whose body has been read, if it
// has one, and has its answer kept. Where the request was sent before it answers
// as it was answered then, and returns errReplayed.
func (c *call) once(body []byte) error {
	values := c.r.Header.Values("Idempotency-Key")
	if c.r.Method != http.MethodPost || len(values) == 0 {
		return nil
	}
	key := values[0]
	if len(values) > 1 || !visible(key) {
		return fault.Invalidf("Idempotency-Key", "The Idempotency-Key must be 1 to %d visible ASCII characters.", maxIdempotencyKey)
	}
	claim, answer, err := c.api.service.Once(c.ctx(), c.caller, idempotency.Request{Route: c.r.URL.Path, Key: key, Body: sha256.Sum256(body)})
	if err != nil {
		return err
	}
	if answer != nil && answer.Status == 0 {
		return c.remake(answer.Object, body)
	}
	if answer != nil {
		c.w.Header().Set("Idempotent-Replay", "true")
		c.w.Header().Set("Content-Type", answer.ContentType)
		c.w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
		c.w.WriteHeader(answer.Status)
		c.w.Write(answer.Body) // a client that is gone has nobody to tell
		return errReplayed
	}
	c.recorder = &recorder{ResponseWriter: c.w.ResponseWriter, claim: claim, ticket: &c.ticket}
	c.w.ResponseWriter = c.recorder
	c.caller.Claim = claim
	return nil
}

// remake answers a request that is done and whose answer was lost with what it has
// made, as that is now.
func (c *call) remake(object string, body []byte) error {
	a, lost := c.api, idempotency.NotKept(object)
	streamed := false
	if root, err := jsonin.Parse(body, jsonin.Dots); err == nil {
		streamed = root.Field("stream").True()
	}
	c.w.Header().Set("Idempotent-Replay", "true")
	prefix, _, _ := strings.Cut(object, "_")
	var err error
	switch {
	case prefix == "resp" && streamed:
		err = a.replayResponse(c, object, -1)
	case prefix == "resp":
		err = a.storedResponse(c, object)
	case prefix == "conv":
		c.r.SetPathValue("conversation_id", object)
		err = a.getConversation(c)
	case prefix == "batch":
		c.r.SetPathValue("batch_id", object)
		err = a.getBatch(c)
	case prefix == "vs":
		c.r.SetPathValue("vector_store_id", object)
		err = a.getVectorStore(c)
	case prefix == "vsfb":
		c.r.SetPathValue("file_batch_id", object)
		err = a.getFileBatch(c)
	case prefix == "file" && c.storeID() != "":
		c.r.SetPathValue("file_id", object)
		err = a.getVectorStoreFile(c)
	case prefix == "file":
		c.r.SetPathValue("file_id", object)
		err = a.getFile(c)
	default:
		err = lost
	}
	switch {
	case err == nil:
		return errReplayed
	case fault.Is(err, fault.NotFound):
		err = lost // it was deleted meanwhile
	}
	c.w.Header().Del("Idempotent-Replay")
	return err
}

func visible(key string) bool {
	for _, b := range []byte(key) {
		if b <= ' ' || b > '~' {
			return false
		}
	}
	return key != "" && len(key) <= maxIdempotencyKey
}

// maxRecorded is how much of an answer is kept for others, in bytes. A larger one is
// not kept at all.
const maxRecorded = 10 << 20

// recorder is a response writer that records what it writes for those who send the
// same request again. What it holds counts among the bytes of its organization, twice:
// it is sealed before it is stored. An answer for which there is no room is not kept.
type recorder struct {
	http.ResponseWriter
	claim   *idempotency.Claim
	ticket  *admission.Ticket
	body    []byte
	counted int64
	lost    bool // more than is kept, or there was no room
}

// Write implements [http.ResponseWriter].
func (k *recorder) Write(p []byte) (int, error) {
	if !k.lost {
		k.record(p)
	}
	return k.ResponseWriter.Write(p)
}

func (k *recorder) record(p []byte) {
	size := len(k.body) + len(p)
	if size > cap(k.body) {
		next := max(size, min(2*cap(k.body), maxRecorded))
		more := 2*int64(next) - k.counted
		if small := 2*int64(next) <= admission.SmallBody; size > maxRecorded || !small && k.ticket.AcquireBytes(more) != nil {
			k.lose()
			return
		} else if !small {
			k.counted += more
		}
		k.body = append(make([]byte, 0, next), k.body...)
	}
	k.body = append(k.body, p...)
}

// lose gives up what was recorded.
func (k *recorder) lose() {
	k.lost, k.body = true, nil
	k.ticket.ReleaseBytes(k.counted)
	k.counted = 0
}

// Unwrap returns the server's response writer.
func (k *recorder) Unwrap() http.ResponseWriter { return k.ResponseWriter }

// endClaim ends the claim of the call, if it has one. An answer that says no, or
// that was cut, is not one to give again: the request may be tried anew, unless
// it is done all the same.
func (c *call) endClaim(cut bool) {
	if c.recorder == nil {
		return
	}
	if cut || c.err != nil || c.w.Status < 200 || c.w.Status >= 300 {
		c.recorder.claim.End(c.ctx(), nil)
		return
	}
	answer := &idempotency.Answer{Status: c.w.Status, Unread: c.ctx().Err() != nil, ContentType: c.w.Header().Get("Content-Type"), Body: c.recorder.body}
	if c.recorder.lost {
		answer.Status, answer.Body = 0, nil
	}
	c.recorder.claim.End(c.ctx(), answer)
}
