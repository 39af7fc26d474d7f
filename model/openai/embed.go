package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/seed-506d8e5d/svc/model"
)

const (
	// A vector has at most maxVector bytes of JSON, and those of one request
	// maxVectors together.
	maxVector  = 256 << 10
	maxVectors = 256 << 20
)

var errVectors = errors.New("openai: the server did not give each text a vector")

// wireEmbed is a request for embeddings. The format is named because some servers
// have another default.
type wireEmbed struct {
	Model          string   `json:"model"`
	Input          []string `json:"input"`
	EncodingFormat string   `json:"encoding_format"`
	Dimensions     int      `json:"dimensions,omitempty"`
}

// Embed implements [model.Embedder].
func (b *Backend) Embed(ctx context.Context, req *model.EmbedRequest) (e *model.Embeddings, err error) {
	m := b.find(req.Model)
	if m == nil {
		return nil, notFound(req.Model, nil)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var a asked
	err = m.do(ctx, req.Tenant, func(ctx context.Context, t *target) (err error) {
		a.begin()
		e, err = t.embed(ctx, req)
		a.end(ctx, err)
		if f, ok := errors.AsType[*failure](err); ok && f.status == http.StatusNotFound && m == b.others && !f.passing {
			return notFound(req.Model, f.fault.Err) // no failure: it is final
		}
		return err
	})
	if err != nil {
		return nil, a.cut(err, nil, req.Texts)
	}
	if e.InputTokens == 0 { // the server has not counted
		for _, text := range req.Texts {
			e.InputTokens += b.estimateText(text)
		}
	}
	return e, nil
}

func (t *target) embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	body, err := json.Marshal(wireEmbed{Model: t.model(req.Model), Input: req.Texts, EncodingFormat: "float", Dimensions: req.Dimensions})
	if err != nil {
		return nil, err
	}
	x, err := t.send(ctx, post(req.Tenant, t.URL+"/embeddings", body))
	if f, ok := errors.AsType[*failure](err); ok {
		err = noEmbedding(f, t.model(req.Model))
	}
	if err != nil {
		return nil, err
	}
	defer x.close()
	answer, err := x.whole(min(int64(len(req.Texts)+1)*maxVector, maxVectors))
	if err != nil {
		return nil, err
	}
	e := &model.Embeddings{InputTokens: t.within(parseUsage(answer.Get("usage")), len(req.Texts)).InputTokens}
	if e.Vectors, err = vectors(answer.Get("data"), len(req.Texts)); err != nil {
		return nil, x.malformed(err)
	}
	return e, shorten(e.Vectors, req.Dimensions)
}

// noEmbedding returns the failure of a server in the words of what it does not have: the
// route, embeddings of the model, or the model. Another failure is returned as it is.
func noEmbedding(f *failure, id string) *failure {
	text := strings.ToLower(fmt.Sprint(f.fault.Err))
	named := strings.Contains(text, "model")
	switch {
	case f.status >= http.StatusBadRequest && noEmbeddings.MatchString(text):
		return &failure{status: f.status, fault: rejected("The model makes no embeddings.", f.fault.Err)}
	case noRoute(f.status) && !named:
		// Without the status, which would say that the model is missing.
		return &failure{fault: rejected("The model server has no route for embeddings (/v1/embeddings).", f.fault.Err)}
	case f.status == http.StatusNotFound && named:
		missing, told := *f, *f.fault
		told.Message = fmt.Sprintf("The model server has no model %q.", id)
		missing.fault = &told
		return &missing
	}
	return f
}

// noEmbeddings is how vLLM ("does not support Embeddings API"), Ollama ("this model does
// not support embeddings") and others say it.
var noEmbeddings = regexp.MustCompile(`(?i)not support[a-z]* embedding`)

// shorten cuts vectors to the length that was asked for, where the server has not, and
// makes their length 1 again, as models with several lengths are read.
func shorten(vectors [][]float32, length int) error {
	for i, v := range vectors {
		switch {
		case length == 0 || len(v) == length:
			continue
		case len(v) < length:
			e := rejected(fmt.Sprintf("The model's embeddings have %d dimensions.", len(v)), nil)
			e.Param = "dimensions"
			return &failure{fault: e}
		}
		square := 0.0
		for _, x := range v[:length] {
			square += float64(x) * float64(x)
		}
		if v = v[:length:length]; square > 0 {
			for j := range v {
				v[j] /= float32(math.Sqrt(square))
			}
		}
		vectors[i] = v
	}
	return nil
}

// vectors reads one vector for each text, which may come in any order.
func vectors(data gjson.Result, texts int) ([][]float32, error) {
	found := make([][]float32, texts)
	length, count := 0, 0
	data.ForEach(func(_, item gjson.Result) bool {
		index := count
		if named := item.Get("index"); named.Exists() {
			index = int(named.Int())
		}
		if count++; index < 0 || index >= texts || found[index] != nil {
			count = -1
			return false
		}
		found[index] = vector(item.Get("embedding"), length)
		length = len(found[index])
		if length == 0 {
			count = -1
		}
		return count > 0
	})
	if count != texts {
		return nil, errVectors
	}
	return found, nil
}

// vector reads a vector of a length, 0 for any. It returns nil where there is none.
func vector(list gjson.Result, length int) []float32 {
	v := make([]float32, 0, length)
	finite := true
	list.ForEach(func(_, number gjson.Result) bool {
		x := float32(number.Num)
		finite = number.Type == gjson.Number && !math.IsInf(float64(x), 0)
		v = append(v, x)
		return finite
	})
	if !finite || length > 0 && len(v) != length {
		return nil
	}
	return v
}
