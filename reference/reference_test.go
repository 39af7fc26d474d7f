package reference

import (
	"strings"
	"testing"

	"github.com/matryer/is"
)

const document1 = `{"info":{"title":"<b>x</b>","description":"All of it."},"tags":[{"name":"Things"}],
"paths":{"/v1/things/{file_id}":{"parameters":[{"name":"file_id","in":"path","required":true,"schema":{"type":"string"}}],
	"post":{"operationId":"change","tags":["Things"],"summary":"Change <i>it</i>","parameters":[{"$ref":"#/components/parameters/Once"}],
	"requestBody":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"},"example":{"z":1,"a":"</script>"}}}},
	"responses":{"200":{"description":"Done.","content":{"application/json":{"schema":{"type":"array","items":{"$ref":"#/components/schemas/Thing"}}}}}},
	"security":[{"apiKey":[]}]}}},
"components":{"parameters":{"Once":{"name":"Once","in":"header","description":"Not twice.","schema":{"type":"string"}}},
"schemas":{"Thing":{"type":"object","required":["z"],"properties":{"z":{"type":["integer","null"],"description":"<script>"},
	"a":{"enum":["x","y"]},"m":{"type":"object","additionalProperties":{"type":"number"}}}}}}}`

func TestPage(t *testing.T) {
	is := is.New(t)
	page, err := Page([]byte(document1))
	is.NoErr(err)
	for _, want := range []string{
		`<li><a href="#change">Change &lt;i&gt;it&lt;/i&gt;</a></li>`, `<code>file_id</code><br><small>required</small>`, `Not twice.`,
		`<h4>Body: <a href="#Thing">Thing</a></h4>`, `<td>array of <a href="#Thing">Thing</a></td>`, `<td>integer or null</td><td>&lt;script&gt;</td>`,
		`<code>&#34;x&#34;</code> or <code>&#34;y&#34;</code>`, `<td>object of number</td>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page has no %s", want)
		}
	}
	for _, wrong := range []string{"<script", "</script>", "<b>x", "<i>"} {
		if strings.Contains(string(page), wrong) {
			t.Errorf("the page has %s", wrong)
		}
	}
}

func TestExampleInCurl(t *testing.T) {
	is := is.New(t)
	examples, err := Examples([]byte(document1))
	is.NoErr(err)
	is.Equal(len(examples), len(Languages))
	is.Equal(examples[0], Example{"change", "POST", "/v1/things/{file_id}", "curl", `curl "$SVC_URL/v1/things/file_123" \
  -H "Authorization: Bearer $SVC_API_KEY" \
  -H "Content-Type: application/json" \
  -d '{
  "z": 1,
  "a": "</script>"
}'
`})
}

func FuzzPage(f *testing.F) {
	f.Add(document1)
	f.Add(`{"paths":{"/":{"get":{"tags":["a"]}}},"tags":[{"name":"a"}],"components":{"schemas":{"A":{"allOf":[{"properties":{"b":{"type":1}}}]}}}}`)
	f.Fuzz(func(t *testing.T, document string) {
		_, _ = Page([]byte(document)) // any error, but no panic
	})
}
