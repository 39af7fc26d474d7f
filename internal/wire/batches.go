package wire

import "encoding/json"

// BatchRequest is the body of POST /v1/batches.
type BatchRequest struct {
	InputFileID        string             `json:"input_file_id" api:"required" doc:"ID of a file with the purpose batch."`
	Endpoint           string             `json:"endpoint" api:"required,enum=/v1/responses|/v1/chat/completions|/v1/completions|/v1/embeddings|/v1/decisions|/v1/systemone|/v1/rerank|/v1/moderations" doc:"The route that every line is sent to."`
	CompletionWindow   string             `json:"completion_window" api:"required,const=24h"`
	Metadata           Tags               `json:"metadata,omitempty"`
	OutputExpiresAfter *BatchExpiresAfter `json:"output_expires_after,omitempty"`
}

// BatchExpiresAfter is when the files of answers expire.
type BatchExpiresAfter struct {
	Anchor  string `json:"anchor" api:"required,const=created_at"`
	Seconds int64  `json:"seconds" api:"required,min=3600,max=2592000"`
}

// Batch is a file of requests and what has become of them.
type Batch struct {
	ID               string         `json:"id"`
	Object           string         `json:"object" api:"const=batch"`
	Endpoint         string         `json:"endpoint"`
	Model            *string        `json:"model" doc:"That of the first line."`
	Errors           *BatchProblems `json:"errors" doc:"Why the batch failed, where it did."`
	InputFileID      string         `json:"input_file_id"`
	CompletionWindow string         `json:"completion_window" api:"const=24h"`
	Status           string         `json:"status" api:"enum=validating|failed|in_progress|finalizing|completed|expired|cancelling|cancelled"`
	OutputFileID     *string        `json:"output_file_id" doc:"The lines that were answered, in the order of the input."`
	ErrorFileID      *string        `json:"error_file_id" doc:"The lines that failed or did not run, in the order of the input."`
	CreatedAt        int64          `json:"created_at"`
	InProgressAt     *int64         `json:"in_progress_at"`
	ExpiresAt        int64          `json:"expires_at"`
	FinalizingAt     *int64         `json:"finalizing_at"`
	CompletedAt      *int64         `json:"completed_at"`
	FailedAt         *int64         `json:"failed_at"`
	ExpiredAt        *int64         `json:"expired_at"`
	CancellingAt     *int64         `json:"cancelling_at"`
	CancelledAt      *int64         `json:"cancelled_at"`
	RequestCounts    BatchCounts    `json:"request_counts"`
	Usage            *ResponseUsage `json:"usage,omitempty" doc:"Of all lines, once the batch has ended."`
	Metadata         Tags           `json:"metadata"`
}

// BatchProblems are rules that the input file breaks.
type BatchProblems struct {
	Object string         `json:"object" api:"const=list"`
	Data   []BatchProblem `json:"data"`
}

// BatchProblem is a rule that a line breaks.
type BatchProblem struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Param   *string `json:"param"`
	Line    *int    `json:"line"`
}

// BatchCounts counts the lines of a batch.
type BatchCounts struct {
	Total     int `json:"total"`
	Completed int `json:"completed"`
	Failed    int `json:"failed"`
}

// BatchLine is a line of the files that a batch ends with.
type BatchLine struct {
	ID       string       `json:"id"`
	CustomID string       `json:"custom_id"`
	Response *BatchAnswer `json:"response"`
	Error    *BatchError  `json:"error"`
}

// BatchAnswer is what a line was answered.
type BatchAnswer struct {
	StatusCode int             `json:"status_code"`
	RequestID  string          `json:"request_id"`
	Body       json.RawMessage `json:"body"`
}

// BatchError is why a line was not answered.
type BatchError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Param   string `json:"param,omitempty" doc:"The member of a line that is not valid."`
	Line    int    `json:"line,omitempty" doc:"Of a line that is not valid: its number in the input file, from 1."`
}
