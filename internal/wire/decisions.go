package wire

import (
	"encoding/json"
	"reflect"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// DecisionRequest is the body of POST /v1/systemone.
type DecisionRequest struct {
	Model     string                    `json:"model" api:"needed"`
	State     json.RawMessage           `json:"state" api:"needed,shared" doc:"What is judged: a string, an object or an array. An object with the one member file_id or conversation, an ID of the service's, stands for the text of that file or for what was said in that conversation."`
	Questions Members[DecisionQuestion] `json:"questions" api:"least=1,needed,first=17"`
	Images    []DecisionImage           `json:"images,omitempty" api:"first=5"`
	DecisionWays
	Examples []DecisionExample `json:"examples,omitempty" api:"first=101" doc:"States with right answers, which the model reads first."`
}

// DecisionWays says how to ask, what answers to do without and what is stored.
type DecisionWays struct {
	Store             *bool    `json:"store,omitempty" doc:"Whether the decision is stored, which the organization or the key may have as the default. An organization with zero data retention stores none."`
	Metadata          Tags     `json:"metadata,omitempty" doc:"Tags of a stored decision."`
	AbstainAboveError *float64 `json:"abstain_above_error,omitempty" api:"above=0,max=1" doc:"Marks answers whose confidence does not keep this error rate; each question needs a calibration."`
	Debias            *int     `json:"debias,omitempty" api:"min=1,max=255" doc:"In how many orders each question is asked."`
}

// check holds the ways to their bounds; the service knows how many orders a question
// has.
func (w *DecisionWays) check(n *jsonin.Node) {
	if d := w.Debias; d != nil && *d < 1 {
		n.Field("debias").Fail("must be 1 to 255")
	}
	if x := w.AbstainAboveError; x != nil && !(*x > 0) {
		n.Field("abstain_above_error").Fail("must be above 0 and at most 1")
	}
}

// DecisionQuestion is a question about the state.
type DecisionQuestion struct {
	Type         string          `json:"type" api:"needed,enum=noul|choice|score|labels"`
	Instructions Instructions    `json:"instructions,omitempty" doc:"What is asked: a string, or an object or array that the model reads as compact JSON."`
	Criteria     json.RawMessage `json:"criteria,omitempty" doc:"An object of options with their descriptions, or an array of levels; of a noul what true and false mean."`
}

// Instructions are what a question asks. A request may have an object or an array,
// which is read as compact JSON.
type Instructions string

func (i *Instructions) readNode(n *jsonin.Node, _ *field) {
	switch {
	case n.IsObject() || n.IsArray():
		*i = Instructions(jsonout.Plain(n.Raw()))
	case !n.IsText():
		n.Fail("must be a string, an object, an array or null")
	default:
		*i = Instructions(n.Text())
	}
}

// DecisionImage is an image that belongs to the state.
type DecisionImage struct {
	MediaType string `json:"mediaType" api:"enum=image/png|image/jpeg|image/webp"`
	Base64    string `json:"base64" doc:"The bytes, at most 4 MiB decoded."`
}

// readNode reads an image. Its errors name the image, not the member at fault: their
// messages begin with images/<index>.
func (i *DecisionImage) readNode(n *jsonin.Node, _ *field) {
	for _, name := range [...]string{"mediaType", "base64"} {
		if f := n.Field(name); !f.Absent() && !f.IsText() {
			n.Fail("%s must be a string", name)
			return
		}
	}
	i.MediaType, i.Base64 = n.Field("mediaType").Text(), n.Field("base64").Text()
}

// DecisionExample is a state with right answers: true or false, the name of an option,
// or the index of a level.
type DecisionExample struct {
	State   json.RawMessage          `json:"state"`
	Answers Members[json.RawMessage] `json:"answers" doc:"By question: true or false, the name of an option, or the index of a level."`
}

// Decision is the answer to a [DecisionRequest].
type Decision struct {
	ID      string                  `json:"id,omitempty" doc:"Of a stored decision."`
	Model   string                  `json:"model"`
	Answers Members[DecisionAnswer] `json:"answers"`
	Usage   DecisionUsage           `json:"usage"`
}

// DecisionUsage is what a decision cost. No output is charged.
type DecisionUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}

// DecisionAnswer is the answer to a question.
type DecisionAnswer struct {
	Type string `json:"type" api:"enum=noul|choice|score|labels"`
	DecisionNumbers
	AnswerNotes[DecisionNumbers]
}

// DecisionNumbers are the probabilities of an answer and what they say.
type DecisionNumbers struct {
	Noul          *float64                 `json:"noul,omitempty" of:"noul" api:"min=0,max=1,required" doc:"The probability of yes."`
	Choice        *string                  `json:"choice,omitempty" of:"choice" api:"required"`
	Score         *float64                 `json:"score,omitempty" of:"score" api:"required" doc:"The mean of the levels' indices, weighted by probability."`
	Labels        []string                 `json:"labels,omitzero" of:"labels" api:"required" doc:"Those that hold: with at least 0.5."`
	Legend        Members[json.RawMessage] `json:"legend,omitempty" of:"score" api:"required" doc:"The levels as they were given, by their indices."`
	Probabilities Members[float64]         `json:"probabilities,omitempty" of:"choice score labels" api:"required"`
	Confidence    *float64                 `json:"confidence,omitempty" of:"choice score" api:"min=0,max=1,required"`
}

// AnswerNotes is what is said of an answer besides its numbers.
type AnswerNotes[Numbers any] struct {
	OrderVariation   *float64 `json:"order_variation,omitempty" api:"min=0,max=1" doc:"With debias: the largest difference of a probability between two orders."`
	Calibration      string   `json:"calibration,omitempty" doc:"ID of the calibration that was applied."`
	Raw              *Numbers `json:"raw,omitempty" doc:"The answer without the calibration."`
	CalibrationStale bool     `json:"calibration_stale,omitempty" doc:"The question has a calibration that does not hold any more and was not applied: the model, the prompt or the way of reading it has changed."`
	Abstained        *bool    `json:"abstained,omitempty" doc:"With abstain_above_error: whether the answer is less sure than that asks for."`
}

// KeptDecision is a stored decision.
type KeptDecision struct {
	ID        string                    `json:"id"`
	Object    string                    `json:"object" api:"const=decision"`
	CreatedAt int64                     `json:"created_at" doc:"Unix seconds."`
	Model     string                    `json:"model"`
	State     json.RawMessage           `json:"state" doc:"What was judged: the text of a file or what was said in a conversation, where the request referred to it."`
	Images    int                       `json:"images,omitempty" doc:"How many images the decision had; they are not stored."`
	Questions Members[DecisionQuestion] `json:"questions"`
	Answers   Members[DecisionAnswer]   `json:"answers"`
	Usage     DecisionUsage             `json:"usage"`
	Labels    Members[json.RawMessage]  `json:"labels" doc:"Right answers by question: true or false, the name of an option, or the index of a level."`
	Metadata  Tags                      `json:"metadata"`
}

// LabelsRequest is the body of POST /v1/decisions/{decision_id}/labels.
type LabelsRequest struct {
	Labels Members[json.RawMessage] `json:"labels" api:"required,least=1,first=401" doc:"By question: true or false, the name of an option, or the index of a level; null removes a label."`
}

func (r *LabelsRequest) check(n *jsonin.Node) {
	if len(r.Labels) == 0 {
		n.Field("labels").Fail("must name a question")
	}
}

// DecisionList is the answer to POST /v1/decisions.
type DecisionList struct {
	ID      string            `json:"id,omitempty" doc:"Of a stored decision."`
	Model   string            `json:"model"`
	Answers []ListAnswer      `json:"answers"`
	Usage   DecisionListUsage `json:"usage"`
}

// ListAnswer is the answer to a question of a list.
type ListAnswer struct {
	Type string  `json:"type" api:"enum=predicate|choice|score"`
	Name *string `json:"name"`
	ListNumbers
	AnswerNotes[ListNumbers]
}

// ListNumbers are the probabilities of an answer and what they say.
type ListNumbers struct {
	Probability   *float64            `json:"probability,omitempty" of:"predicate" api:"min=0,max=1,required" doc:"Of a predicate."`
	Choice        json.RawMessage     `json:"choice,omitempty" of:"choice" api:"required" doc:"The value of an option: a string or a boolean."`
	Score         *float64            `json:"score,omitempty" of:"score" api:"required"`
	Confidence    *float64            `json:"confidence,omitempty" of:"choice score" api:"min=0,max=1,required"`
	Probabilities []OptionProbability `json:"probabilities,omitempty" of:"choice score" api:"required"`
}

// OptionProbability is the probability of an option or a level.
type OptionProbability struct {
	Label       *string         `json:"label,omitempty" doc:"Of a level."`
	Value       json.RawMessage `json:"value" doc:"An option's value, or a level's index."`
	Probability float64         `json:"probability"`
}

// DecisionListUsage is what a decision cost, in the form of the Responses interface.
type DecisionListUsage struct {
	InputTokens         int                      `json:"input_tokens"`
	InputTokensDetails  DecisionInputDetails     `json:"input_tokens_details"`
	OutputTokens        int                      `json:"output_tokens"`
	OutputTokensDetails DecisionReasoningDetails `json:"output_tokens_details"`
	TotalTokens         int                      `json:"total_tokens"`
}

// DecisionInputDetails are always 0.
type DecisionInputDetails struct {
	CachedTokens     int `json:"cached_tokens"`
	CacheWriteTokens int `json:"cache_write_tokens"`
}

// DecisionReasoningDetails are always 0.
type DecisionReasoningDetails struct {
	ReasoningTokens int `json:"reasoning_tokens"`
}

// RerankRequest is the body of POST /v1/rerank, in the form of Cohere and Jina.
type RerankRequest struct {
	Model           string           `json:"model" api:"needed"`
	Query           string           `json:"query" api:"least=1,needed"`
	Documents       []RerankDocument `json:"documents" api:"least=1,needed,most=1000"`
	TopN            *int             `json:"top_n,omitempty" api:"min=1" doc:"How many documents to return; all unless it is given."`
	ReturnDocuments bool             `json:"return_documents,omitempty"`
}

func (r *RerankRequest) check(n *jsonin.Node) {
	if r.Model == "" {
		n.Field("model").Fail("is required")
	}
	if r.Query == "" {
		n.Field("query").Fail("is required")
	}
	if len(r.Documents) == 0 {
		n.Field("documents").Fail("must have 1 to 1000 documents")
	}
	if r.TopN != nil && *r.TopN < 1 {
		n.Field("top_n").Fail("must be at least 1")
	}
}

// RerankDocument is a string, or an object that is read as its member text, or as JSON
// where it has none.
type RerankDocument struct {
	Text   string          // as the model reads it
	Object json.RawMessage // nil for a string
}

func (d *RerankDocument) readNode(n *jsonin.Node, _ *field) {
	switch {
	case n.IsText():
		d.Text = n.Text()
	case !n.IsObject():
		n.Fail("must be a string or an object")
	default:
		d.Object = n.Raw()
		if d.Text = string(jsonout.Plain(d.Object)); n.Field("text").IsText() {
			d.Text = n.Field("text").Text()
		}
	}
}

// Ranking is the answer to a [RerankRequest].
type Ranking struct {
	Model   string           `json:"model"`
	Results []RankedDocument `json:"results" doc:"The most relevant first."`
	Usage   RankingUsage     `json:"usage"`
}

// RankedDocument is a document's place in a ranking.
type RankedDocument struct {
	Index     int             `json:"index"`
	Relevance float64         `json:"relevance_score" api:"min=0,max=1"`
	Document  json.RawMessage `json:"document,omitempty" api:"object" doc:"With return_documents."`
}

// RankingUsage is what a ranking cost.
type RankingUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// CalibrationRequest is the body of POST /v1/calibrations.
type CalibrationRequest struct {
	Model    string             `json:"model" api:"needed"`
	Question CalibratedQuestion `json:"question" api:"needed"`
	Rows     []LabelledRow      `json:"rows,omitempty" api:"least=20,first=10001" doc:"States and their right answers."`
	FileID   string             `json:"file_id,omitempty" doc:"In place of rows: an uploaded CSV file with the columns state and answer, or JSONL with those members."`
	From     string             `json:"from,omitempty" api:"enum=decisions" doc:"In place of rows: decisions, the stored decisions with a label of the question, which question names."`
}

func (r *CalibrationRequest) check(n *jsonin.Node) {
	if r.Model == "" {
		n.Field("model").Fail("is required")
	}
	given := 0
	for _, name := range [...]string{"rows", "file_id", "from"} {
		if !n.Field(name).Absent() {
			given++
		}
	}
	if given != 1 {
		n.Field("rows").Fail("is required, or file_id or from in its place")
	}
	if from := n.Field("from"); !from.Absent() && r.From != "decisions" {
		from.Fail("must be decisions")
	}
	if question := n.Field("question"); !question.Absent() && question.IsText() != (r.From != "") {
		question.Fail("must be an object, or with from the name of a question")
	}
}

// CalibratedQuestion is a question and how it was sent, or the name of one.
type CalibratedQuestion struct {
	DecisionQuestion
	Name string          `json:"-"`
	Sent json.RawMessage `json:"-"`
}

func (q *CalibratedQuestion) readNode(n *jsonin.Node, _ *field) {
	if n.IsText() {
		q.Name = n.Text()
		return
	}
	readStruct(n, reflect.ValueOf(&q.DecisionQuestion).Elem())
	q.Sent = n.Raw()
}

// LabelledRow is a state and the right answer: true or false, the name of an option,
// or the index of a level.
type LabelledRow struct {
	State  json.RawMessage `json:"state"`
	Answer json.RawMessage `json:"answer" doc:"True or false, the name of an option, or the index of a level."`
}

// Calibration says what a model's probabilities mean for a question.
type Calibration struct {
	ID          string                `json:"id"`
	Object      string                `json:"object" api:"const=calibration"`
	Model       string                `json:"model"`
	Question    json.RawMessage       `json:"question" api:"object"`
	Method      string                `json:"method" api:"enum=raw|temperature|platt|isotonic"`
	Rows        int                   `json:"rows"`
	Metrics     map[string]MetricPair `json:"metrics" doc:"By name: ece, brier, nll, accuracy, chance_corrected and auroc. Calibrated ones are of rows that were held out."`
	Thresholds  []Threshold           `json:"thresholds" doc:"From which confidence on, with a certainty of 95 %, no larger share of answers is wrong."`
	Reliability []ReliabilityBin      `json:"reliability"`
	CreatedAt   int64                 `json:"created_at" doc:"Unix seconds."`
	Prompts     string                `json:"prompts,omitempty" doc:"The form of the prompts that it was made with. It is not applied to answers to prompts of another form."`
	Readings    []string              `json:"readings,omitempty" doc:"What answered and how that was read: the kind of model server, the model there, and the way. It is not applied to answers that are read otherwise."`
}

// MetricPair is a metric without and with the calibration.
type MetricPair struct {
	Raw        float64 `json:"raw"`
	Calibrated float64 `json:"calibrated"`
}

// Threshold is the confidence from which answers keep an error rate.
type Threshold struct {
	Error      float64 `json:"error"`
	Confidence float64 `json:"confidence"`
	Coverage   float64 `json:"coverage" doc:"Share of the rows with at least that confidence."`
}

// ReliabilityBin is how right the answers of a range of confidences are.
type ReliabilityBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
	Mean  float64 `json:"mean" doc:"Of the confidences."`
	Right float64 `json:"right" doc:"Share of the rows that are right."`
}
