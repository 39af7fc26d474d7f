package wire

// Error is an answer that refuses a request, and the last event of a stream of
// Chat Completions that failed.
type Error struct {
	Error ErrorObject `json:"error"`
}

// ErrorObject says what is wrong. Param is null where no field is at fault.
type ErrorObject struct {
	Message string  `json:"message" doc:"For people; it may change."`
	Type    string  `json:"type" api:"enum=invalid_request_error|authentication_error|permission_error|insufficient_credits|rate_limit_error|server_error"`
	Param   *string `json:"param" doc:"The field at fault."`
	Code    string  `json:"code" doc:"For programs."`

	Policy   string `json:"policy,omitempty" doc:"The policy that blocked the request, or could not be asked."`
	Question string `json:"question,omitempty" doc:"The question of the policy whose answer blocked the request."`
}

// DecisionError is an answer of /v1/systemone that refuses a request.
type DecisionError struct {
	Detail ErrorDetail `json:"detail"`
}

// ErrorDetail says what is wrong with a decision.
type ErrorDetail struct {
	ErrorType string `json:"error_type" doc:"The error's code, for programs; validation_error for an invalid request."`
	Message   string `json:"message" doc:"For people; a path and a reason where the request is at fault."`
}

// MetadataRequest replaces the tags of an object.
type MetadataRequest struct {
	Metadata *Tags `json:"metadata" api:"present" doc:"Replaces all tags."`
}

// Tags returns the tags, which null leaves empty.
func (r *MetadataRequest) Tags() map[string]string {
	if r.Metadata == nil {
		return map[string]string{}
	}
	return *r.Metadata
}

// Deleted says that an object is gone.
type Deleted struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Deleted bool   `json:"deleted"`
}

// List is a page of objects. The IDs are null where it is empty.
type List[T any] struct {
	Object  string  `json:"object" api:"const=list"`
	Data    []T     `json:"data"`
	FirstID *string `json:"first_id"`
	LastID  *string `json:"last_id"`
	HasMore bool    `json:"has_more"`
}

// Status is the answer of the health checks.
type Status struct {
	Status string `json:"status" api:"const=ok"`
}
