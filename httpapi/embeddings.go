package httpapi

import (
	"encoding/base64"
	"encoding/binary"
	"math"

	"github.com/seed-506d8e5d/svc/embeddings"
	"github.com/seed-506d8e5d/svc/internal/jsonin"
)

// createEmbeddings serves POST /v1/embeddings as in the OpenAI API.
func (a *API) createEmbeddings(c *call) error {
	root, err := c.modelBody(MaxBody, jsonin.Dots)
	if err != nil {
		return err
	}
	req := &embeddings.Request{Model: root.Field("model").Text(), Texts: embedInput(root.Field("input"))}
	if n := root.Field("dimensions"); !n.Absent() {
		if i := n.Int(); i != nil {
			req.Dimensions = *i
		}
		if req.Dimensions < 1 || req.Dimensions > embeddings.MaxDimensions {
			n.Fail("must be 1 to %d", embeddings.MaxDimensions)
		}
	}
	format := root.Field("encoding_format")
	packed := format.Text() == "base64"
	if !format.Absent() && !packed && format.Text() != "float" {
		format.Fail(`must be "float" or "base64"`)
	}
	refuseFields(root, embeddingFields)
	if err := root.Err(); err != nil {
		return err
	}
	c.model = req.Model
	resp, err := a.service.Embed(c.ctx(), c.caller, req)
	if err != nil {
		return err
	}
	c.inputTokens = resp.InputTokens
	return c.json(newEmbeddingList(resp, packed))
}

// embedInput decodes a text or a list of texts. Lists of tokens are refused: they
// are numbers of another model's vocabulary.
func embedInput(n *jsonin.Node) []string {
	if n.Absent() {
		n.Fail("is required")
		return nil
	}
	if !n.IsArray() {
		text := n.Text()
		if text == "" {
			n.Fail("must not be empty")
		}
		return []string{text}
	}
	items := n.Items(embeddings.MaxTexts)
	if len(items) == 0 {
		n.Fail("must not be empty")
	}
	texts := make([]string, len(items))
	for i, item := range items {
		if !item.IsText() {
			item.Fail("must be a string: tokens are not supported, because they mean something to one model alone; send text")
		}
		if texts[i] = item.Text(); texts[i] == "" {
			item.Fail("must not be empty")
		}
	}
	return texts
}

type embeddingObject struct {
	Object    string `json:"object"`
	Index     int    `json:"index"`
	Embedding any    `json:"embedding"` // a list of numbers, or base64 of them
}

type embeddingList struct {
	Object string            `json:"object"`
	Data   []embeddingObject `json:"data"`
	Model  string            `json:"model"`
	Usage  embeddingUsage    `json:"usage"`
}

type embeddingUsage struct {
	PromptTokens int `json:"prompt_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

func newEmbeddingList(resp *embeddings.Response, packed bool) embeddingList {
	list := embeddingList{"list", make([]embeddingObject, len(resp.Vectors)), resp.Model, embeddingUsage{resp.InputTokens, resp.InputTokens}}
	for i, vector := range resp.Vectors {
		list.Data[i] = embeddingObject{Object: "embedding", Index: i, Embedding: vector}
		if packed {
			list.Data[i].Embedding = pack(vector)
		}
	}
	return list
}

// pack writes a vector as base64 of its little-endian 32-bit numbers.
func pack(vector []float32) string {
	data := make([]byte, 0, 4*len(vector))
	for _, x := range vector {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	return base64.StdEncoding.EncodeToString(data)
}
