package model

// Cut is the error of a call of a [Scorer], [Decider] or [Embedder] that has ended
// without an answer although a model server has worked on it: its caller has
// gone, what the model said was no answer, or a hook refused it. Like what a generation has used,
// its tokens are charged. They are estimated low where the server did not count.
type Cut struct {
	StateTokens    int // of what all questions of a decision share
	QuestionTokens int // of the question, of all where one call asks them, or of the texts to embed
	Err            error
}

// Error implements error.
func (c *Cut) Error() string { return c.Err.Error() }

// Unwrap returns why the call ended.
func (c *Cut) Unwrap() error { return c.Err }
