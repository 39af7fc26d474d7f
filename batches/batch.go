package batches

import (
	"encoding/binary"
	"errors"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/storage"
)

// Status is where a batch is on its way.
type Status string

// The statuses of a batch. The last four are final.
const (
	Validating Status = "validating"
	InProgress Status = "in_progress"
	Finalizing Status = "finalizing" // all lines have run; the files are being written
	Cancelling Status = "cancelling"
	Completed  Status = "completed"
	Failed     Status = "failed" // the input file is not valid
	Expired    Status = "expired"
	Cancelled  Status = "cancelled"
)

// Ended reports whether the status is final.
func (s Status) Ended() bool {
	return s == Completed || s == Failed || s == Expired || s == Cancelled
}

// Batch is a file of requests and what has become of them. Times are Unix seconds, 0
// for what has not happened.
type Batch struct {
	ID          string // batch_…
	Endpoint    string
	InputFile   string // file_… ID
	Key         string // key_… ID of who made it, may be empty
	Model       string // of the first line
	Metadata    map[string]string
	OutputsKept int64 // seconds until the files expire; 0: never

	Status                                                      Status
	CreatedAt, InProgressAt, ExpiresAt, FinalizingAt            int64
	CompletedAt, FailedAt, ExpiredAt, CancellingAt, CancelledAt int64
	Total, Completed, Failed                                    int // lines
	OutputFile, ErrorFile                                       string
	Problems                                                    []Problem // why it failed
	InputTokens, CachedTokens, OutputTokens, ReasoningTokens    int       // of all lines, once it has ended
}

// Problem is a rule that the input file breaks.
type Problem struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty"` // the member of the line
	Line    int    `json:"line,omitempty"`  // from 1; 0: no single line
}

// record is what is stored of a [Batch], whose ID is in the key.
type record struct {
	Endpoint    string            `json:"endpoint"`
	InputFile   string            `json:"input_file"`
	Key         string            `json:"key,omitempty"`
	Model       string            `json:"model,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
	OutputsKept int64             `json:"outputs_kept,omitempty"`

	Status       Status    `json:"status"`
	CreatedAt    int64     `json:"created_at"`
	InProgressAt int64     `json:"in_progress_at,omitempty"`
	ExpiresAt    int64     `json:"expires_at"`
	FinalizingAt int64     `json:"finalizing_at,omitempty"`
	CancellingAt int64     `json:"cancelling_at,omitempty"`
	EndedAt      int64     `json:"ended_at,omitempty"`
	Total        int       `json:"total,omitempty"`
	Completed    int       `json:"completed,omitempty"`
	Failed       int       `json:"failed,omitempty"`
	OutputFile   string    `json:"output_file,omitempty"`
	ErrorFile    string    `json:"error_file,omitempty"`
	Problems     []Problem `json:"problems,omitempty"`
	Used         used      `json:"used,omitzero"`

	Owner  string `json:"owner,omitempty"`  // process that validates or finishes it
	Closed bool   `json:"closed,omitempty"` // no line runs any more, and none begins
}

// used is how many tokens lines have used.
type used struct {
	Input     int `json:"i,omitempty"`
	Cached    int `json:"c,omitempty"`
	Output    int `json:"o,omitempty"`
	Reasoning int `json:"r,omitempty"`
}

// batch returns the batch of a record.
func (r *record) batch(id string) Batch {
	b := Batch{
		ID: id, Endpoint: r.Endpoint, InputFile: r.InputFile, Key: r.Key, Model: r.Model, Metadata: r.Metadata, OutputsKept: r.OutputsKept,
		Status: r.Status, CreatedAt: r.CreatedAt, InProgressAt: r.InProgressAt, ExpiresAt: r.ExpiresAt, FinalizingAt: r.FinalizingAt, CancellingAt: r.CancellingAt,
		Total: r.Total, Completed: r.Completed, Failed: r.Failed, OutputFile: r.OutputFile, ErrorFile: r.ErrorFile, Problems: r.Problems,
		InputTokens: r.Used.Input, CachedTokens: r.Used.Cached, OutputTokens: r.Used.Output, ReasoningTokens: r.Used.Reasoning,
	}
	switch r.Status {
	case Completed:
		b.CompletedAt = r.EndedAt
	case Failed:
		b.FailedAt = r.EndedAt
	case Expired:
		b.ExpiredAt = r.EndedAt
	case Cancelled:
		b.CancelledAt = r.EndedAt
	}
	return b
}

// segment is consecutive lines that one process runs one after the other.
type segment struct {
	Offset int64  `json:"offset"` // of its first line in the input file
	First  int    `json:"first"`  // its first line, counted from 0
	Count  int    `json:"count"`
	Owner  string `json:"owner,omitempty"` // process that runs it
	Begun  bool   `json:"begun,omitempty"` // some of its lines may have results
}

// The keys in an organization's namespace:
//
//	b/m/{batch}               a record
//	b/a/{batch}               a batch that has something left to do
//	b/s/{batch}/{n}           a segment that is not finished; n in 4 bytes
//	b/r/{batch}/{line}{0|1}   what a line was answered; line in 4 bytes, 1: it failed
//
// and in the service's own namespace:
//
//	ba/{organization}         an organization that may have such batches
const (
	recordPrefix       = "b/m/"
	activePrefix       = "b/a/"
	organizationPrefix = "ba/"
)

func recordKey(id string) []byte  { return []byte(recordPrefix + id) }
func activeKey(id string) []byte  { return []byte(activePrefix + id) }
func segmentsOf(id string) []byte { return []byte("b/s/" + id + "/") }
func resultsOf(id string) []byte  { return []byte("b/r/" + id + "/") }
func segmentKey(id string, n int) []byte {
	return binary.BigEndian.AppendUint32(segmentsOf(id), uint32(n))
}

// resultKey is the first key of a line's result; lineOf and failedOf take such a key
// apart.
func resultKey(id string, line int) []byte {
	return binary.BigEndian.AppendUint32(resultsOf(id), uint32(line))
}

func lineOf(key []byte) int    { return int(binary.BigEndian.Uint32(key[len(key)-5:])) }
func failedOf(key []byte) bool { return key[len(key)-1] == '1' }

// CodeNotFound is the code of the error about a batch that does not exist.
const CodeNotFound = "batch_not_found"

// get reads the record of a batch. The error is NotFound.
func get(tx storage.Tx, id string) (*record, error) {
	r := &record{}
	err := storage.GetJSON(tx, recordKey(id), r)
	if errors.Is(err, storage.ErrNotFound) {
		err = fault.Missing(CodeNotFound, "batch", id)
	}
	return r, err
}

func (r *record) set(tx storage.Tx, id string) error { return storage.SetJSON(tx, recordKey(id), r) }
