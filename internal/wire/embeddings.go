package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"math"

	"github.com/seed-506d8e5d/svc/internal/jsonin"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// EmbeddingRequest is the body of POST /v1/embeddings.
type EmbeddingRequest struct {
	Model          string     `json:"model" api:"needed"`
	Input          EmbedTexts `json:"input" api:"required,least=1,most=2048,notempty" doc:"A text or several. Tokens are refused."`
	Dimensions     *int       `json:"dimensions,omitempty" api:"min=1,max=65536" doc:"Length of the vectors; left out, the model's own."`
	EncodingFormat string     `json:"encoding_format,omitempty" api:"enum=float|base64" doc:"base64 is of little-endian 32-bit numbers."`

	User Ignored `json:"user,omitzero" harmless:"it names the user for OpenAI's checks of misuse"`
}

// maxDimensions is how long a vector may be asked for.
const maxDimensions = 1 << 16

func (r *EmbeddingRequest) check(n *jsonin.Node) {
	if d := r.Dimensions; d != nil && (*d < 1 || *d > maxDimensions) {
		n.Field("dimensions").Fail("must be 1 to %d", maxDimensions)
	}
	if format := n.Field("encoding_format"); !format.Absent() && r.EncodingFormat != "float" && r.EncodingFormat != "base64" {
		format.Fail(`must be "float" or "base64"`)
	}
}

// EmbedTexts is a text or a list of texts. Lists of tokens are refused: they are
// numbers of another model's vocabulary.
type EmbedTexts []string

func (e *EmbedTexts) readNode(n *jsonin.Node, f *field) {
	if !n.IsArray() {
		text := n.Text()
		if text == "" {
			n.Fail("must not be empty")
		}
		*e = EmbedTexts{text}
		return
	}
	items := n.Items(f.most)
	if len(items) == 0 {
		n.Fail("must not be empty")
	}
	texts := make(EmbedTexts, len(items))
	for i, item := range items {
		if !item.IsText() {
			item.Fail("must be a string: tokens are not supported, because they mean something to one model alone; send text")
		}
		if texts[i] = item.Text(); texts[i] == "" {
			item.Fail("must not be empty")
		}
	}
	*e = texts
}

// EmbeddingList is the answer to an [EmbeddingRequest].
type EmbeddingList struct {
	Object string         `json:"object" api:"const=list"`
	Data   []Embedding    `json:"data" doc:"In the order of the texts."`
	Model  string         `json:"model"`
	Usage  EmbeddingUsage `json:"usage"`
}

// Embedding is the vector of one text.
type Embedding struct {
	Object    string `json:"object" api:"const=embedding"`
	Index     int    `json:"index"`
	Embedding Vector `json:"embedding"`
}

// EmbeddingUsage is what vectors cost.
type EmbeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// Vector is a list of numbers, or base64 of them as little-endian 32-bit numbers.
type Vector struct {
	Numbers []float32
	Packed  bool
}

// MarshalJSON implements [json.Marshaler].
func (v Vector) MarshalJSON() ([]byte, error) {
	if !v.Packed {
		return json.Marshal(v.Numbers)
	}
	data := make([]byte, 0, 4*len(v.Numbers))
	for _, x := range v.Numbers {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return jsonout.Marshal(base64.StdEncoding.EncodeToString(data))
}

// UnmarshalJSON implements [json.Unmarshaler]. It reads a list of numbers.
func (v *Vector) UnmarshalJSON(data []byte) error { return json.Unmarshal(data, &v.Numbers) }
