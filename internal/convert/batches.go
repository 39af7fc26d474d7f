package convert

import (
	"github.com/seed-506d8e5d/svc/batches"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// FromBatchRequest returns the batch that is to be made.
func FromBatchRequest(w *wire.BatchRequest) batches.NewBatch {
	n := batches.NewBatch{Endpoint: w.Endpoint, InputFile: w.InputFileID, Metadata: FromTags(w.Metadata)}
	if w.OutputExpiresAfter != nil {
		n.OutputsKept = w.OutputExpiresAfter.Seconds
	}
	return n
}

// ToBatchRequest returns the body that makes a batch.
func ToBatchRequest(n *batches.NewBatch) *wire.BatchRequest {
	w := &wire.BatchRequest{InputFileID: n.InputFile, Endpoint: n.Endpoint, CompletionWindow: "24h", Metadata: n.Metadata}
	if n.OutputsKept != 0 {
		w.OutputExpiresAfter = &wire.BatchExpiresAfter{Anchor: "created_at", Seconds: n.OutputsKept}
	}
	return w
}

// ToBatch returns a batch as it is answered.
func ToBatch(b *batches.Batch) wire.Batch {
	w := wire.Batch{
		ID: b.ID, Object: "batch", Endpoint: b.Endpoint, Model: optional(b.Model), InputFileID: b.InputFile, CompletionWindow: "24h", Status: string(b.Status),
		OutputFileID: optional(b.OutputFile), ErrorFileID: optional(b.ErrorFile), CreatedAt: b.CreatedAt, InProgressAt: optional(b.InProgressAt),
		ExpiresAt: b.ExpiresAt, FinalizingAt: optional(b.FinalizingAt), CompletedAt: optional(b.CompletedAt), FailedAt: optional(b.FailedAt),
		ExpiredAt: optional(b.ExpiredAt), CancellingAt: optional(b.CancellingAt), CancelledAt: optional(b.CancelledAt),
		RequestCounts: wire.BatchCounts{Total: b.Total, Completed: b.Completed, Failed: b.Failed}, Metadata: tags(b.Metadata),
	}
	if len(b.Problems) > 0 {
		w.Errors = &wire.BatchProblems{Object: "list"}
		for _, p := range b.Problems {
			w.Errors.Data = append(w.Errors.Data, wire.BatchProblem{Code: p.Code, Message: p.Message, Param: optional(p.Param), Line: optional(p.Line)})
		}
	}
	if b.Status.Ended() {
		w.Usage = &wire.ResponseUsage{InputTokens: b.InputTokens, OutputTokens: b.OutputTokens, TotalTokens: b.InputTokens + b.OutputTokens}
		w.Usage.InputDetails.CachedTokens, w.Usage.OutputDetails.ReasoningTokens = b.CachedTokens, b.ReasoningTokens
	}
	return w
}

// FromBatch returns what an answer says.
func FromBatch(w *wire.Batch) batches.Batch {
	b := batches.Batch{
		ID: w.ID, Endpoint: w.Endpoint, Model: value(w.Model), InputFile: w.InputFileID, Status: batches.Status(w.Status),
		OutputFile: value(w.OutputFileID), ErrorFile: value(w.ErrorFileID), CreatedAt: w.CreatedAt, InProgressAt: value(w.InProgressAt),
		ExpiresAt: w.ExpiresAt, FinalizingAt: value(w.FinalizingAt), CompletedAt: value(w.CompletedAt), FailedAt: value(w.FailedAt),
		ExpiredAt: value(w.ExpiredAt), CancellingAt: value(w.CancellingAt), CancelledAt: value(w.CancelledAt),
		Total: w.RequestCounts.Total, Completed: w.RequestCounts.Completed, Failed: w.RequestCounts.Failed, Metadata: w.Metadata,
	}
	if w.Errors != nil {
		for _, p := range w.Errors.Data {
			b.Problems = append(b.Problems, batches.Problem{Code: p.Code, Message: p.Message, Param: value(p.Param), Line: value(p.Line)})
		}
	}
	if w.Usage != nil {
		b.InputTokens, b.OutputTokens = w.Usage.InputTokens, w.Usage.OutputTokens
		b.CachedTokens, b.ReasoningTokens = w.Usage.InputDetails.CachedTokens, w.Usage.OutputDetails.ReasoningTokens
	}
	return b
}
