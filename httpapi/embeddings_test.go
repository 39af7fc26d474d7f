package httpapi

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestEmbeddings(t *testing.T) {
	is := is.New(t)
	var asked []*model.EmbedRequest
	a := newDecisionAPI(t, &modeltest.Script{Embeddings: func(_ context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
		asked = append(asked, req)
		e := &model.Embeddings{InputTokens: 7}
		for range req.Texts {
			e.Vectors = append(e.Vectors, []float32{0.1, -2})
		}
		return e, nil
	}})
	w := a.send("/v1/embeddings", `{"model":"svc-preview","input":["a","b"],"dimensions":2,"encoding_format":"float","user":"u"}`)
	is.Equal(w.Body.String(), `{"object":"list","data":[{"object":"embedding","index":0,"embedding":[0.1,-2]},`+
		`{"object":"embedding","index":1,"embedding":[0.1,-2]}],"model":"svc-preview","usage":{"prompt_tokens":7,"total_tokens":7}}`)
	is.Equal(w.Code, 200)
	w = a.send("/v1/embeddings", `{"model":"svc-preview","input":"a","encoding_format":"base64"}`)
	is.Equal(w.Body.String(), `{"object":"list","data":[{"object":"embedding","index":0,"embedding":"zczMPQAAAMA="}],`+
		`"model":"svc-preview","usage":{"prompt_tokens":7,"total_tokens":7}}`)
	is.Equal(len(asked), 2)
	is.Equal(asked[0].Texts, []string{"a", "b"})
	is.Equal(asked[0].Dimensions, 2)
	is.True(asked[0].Tenant != "")
	is.Equal(asked[1].Dimensions, 0)
}

func TestEmbeddingsAreRefused(t *testing.T) {
	a := newDecisionAPI(t, &modeltest.Script{})
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{`{"input":"x"}`, 400, `"message":"model is required.","type":"invalid_request_error","param":"model","code":"validation_error"`},
		{`{"model":"svc-preview"}`, 400, `"param":"input"`},
		{`{"model":"svc-preview","input":""}`, 400, `"param":"input"`},
		{`{"model":"svc-preview","input":[]}`, 400, `"param":"input"`},
		{`{"model":"svc-preview","input":["x",""]}`, 400, `"param":"input[1]"`},
		{`{"model":"svc-preview","input":[1,2]}`, 400, `input[0] must be a string: tokens are not supported`},
		{`{"model":"svc-preview","input":[[1,2]]}`, 400, `input[0] must be a string: tokens are not supported`},
		{`{"model":"svc-preview","input":[` + strings.Repeat(`"x",`, 2048) + `"x"]}`, 400, `"param":"input"`},
		{`{"model":"svc-preview","input":"x","dimensions":0}`, 400, `"param":"dimensions"`},
		{`{"model":"svc-preview","input":"x","dimensions":65537}`, 400, `"param":"dimensions"`},
		{`{"model":"svc-preview","input":"x","encoding_format":"int8"}`, 400, `"param":"encoding_format"`},
		{`{"model":"svc-snap-preview","input":"x"}`, 404, `"param":"model","code":"model_not_found"`},
	} {
		if w := a.send("/v1/embeddings", c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%.80s: %d %s", c.body, w.Code, w.Body)
		}
	}
}

func TestEmbeddingsThatFail(t *testing.T) {
	is := is.New(t)
	a := newDecisionAPI(t, &modeltest.Script{Embeddings: func(context.Context, *model.EmbedRequest) (*model.Embeddings, error) {
		return nil, fault.Upstreamf(errors.New("gone"), "The model server failed.")
	}})
	w := a.send("/v1/embeddings", `{"model":"svc-preview","input":"a"}`)
	is.Equal(w.Code, 502)
	is.True(strings.Contains(w.Body.String(), `"The model server failed."`))
}
