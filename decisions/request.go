package decisions

import "encoding/json"

// The limits of a request. Sizes are bytes after base64 is decoded.
const (
	MaxQuestions    = 16  // where a request does not say otherwise
	MaxQuestionName = 100 // characters
	MinOptions      = 2
	MaxOptions      = 255
	MinLevels       = 2
	MaxLevels       = 10
	MaxExamples     = 100
	MaxImages       = 4
	MaxImageSize    = 4 << 20
	MaxImagesSize   = 8 << 20
)

// Request is what to judge and what to ask about it. [Service.Decide] validates
// it and does not change it.
type Request struct {
	Model string

	// State is a JSON string, object or array. An object with one member only,
	// file_id or conversation, whose value is an ID of the service's, stands for
	// what it names: the text of an uploaded file, or what was said in a
	// conversation.
	State     json.RawMessage
	Questions []Question // 1 to MaxQuestions, in the order asked, names distinct
	Images    []Image    // at most [MaxImages], those of the questions included

	// MaxQuestions is how many questions are taken; 0 is [MaxQuestions].
	MaxQuestions int

	// Debias is in how many orders each question is asked, 1 to [MaxOptions]; 0 is
	// as the model is set up.
	Debias int

	// AbstainAboveError is the share of wrong answers that the caller puts up with,
	// 0 to 1: an answer whose confidence does not keep it is marked, by the
	// calibration of its question, which there has to be. 0 marks none.
	AbstainAboveError float64

	// Examples are states with their right answers, at most [MaxExamples].
	Examples []Example

	// Store says whether the decision is stored; nil is as the caller's key and
	// organization have it. One with zero data retention never is. Metadata are tags of
	// a stored decision.
	Store    *bool
	Metadata map[string]string

	// Tags returns further tags of a stored decision, which follow from its answers. Nil
	// returns none.
	Tags func(*Response) map[string]string

	// Calibrations is the organization whose calibrations are applied; empty is the
	// caller's.
	Calibrations string
}

// Example is a state with the right answers to some of the questions of its
// request.
type Example struct {
	State   json.RawMessage // as that of a request, without references
	Answers []ExampleAnswer
}

// ExampleAnswer is a right answer: true or false to a [Noul], the name of an
// option of a [Choice], the index of a level of a [Score].
type ExampleAnswer struct {
	Question string
	Value    json.RawMessage
}

// Type is the type of a question.
type Type string

// The types of questions.
const (
	Noul   Type = "noul"   // yes or no
	Choice Type = "choice" // one of several named options
	Score  Type = "score"  // a place on an ordered scale
	Labels Type = "labels" // any number of several named options
)

// Question is one question about the state.
type Question struct {
	Name         string // at most [MaxQuestionName] characters
	Type         Type
	Instructions string // what is asked; where it is empty the criteria speak for themselves

	// Criteria is JSON whose shape depends on Type; null is the same as none.
	// A description is a string, an object or an array.
	//
	//   - Noul: none, or an object with the keys "true" and "false", each
	//     optional, and their descriptions.
	//   - Choice: an object of [MinOptions] to [MaxOptions] options, from name to
	//     description, or null for an option without one. Their order is kept.
	//   - Labels: as Choice, and one option is enough.
	//   - Score: an array of [MinLevels] to [MaxLevels] descriptions, in order; null
	//     for a level without one.
	Criteria json.RawMessage

	// Images are pictures that belong to the question alone.
	Images []Image

	// KeptName is the question's name in a stored decision, where that is another;
	// distinct among all.
	KeptName string
}

// AnswerIndex returns the index of an answer among those that the question may have:
// true or false, the name of an option, or the index of a level. The error is Invalid
// and begins with path, which is that of the question.
func (q *Question) AnswerIndex(path string, answer json.RawMessage) (int, error) {
	parsed, err := parseQuestion(path, q)
	if err != nil {
		return 0, err
	}
	return parsed.find(path, answer)
}

// Image is a picture.
type Image struct {
	MediaType string // image/png, image/jpeg or image/webp
	Base64    string // the file's bytes as one line of padded standard base64
}

// Check returns what is wrong with the question, but for its images. The error is
// Invalid and begins with path, which is that of the question.
func (q *Question) Check(path string) error {
	_, err := parseQuestion(path, q)
	return err
}
