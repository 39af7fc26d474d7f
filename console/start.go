package console

import (
	"fmt"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// startView is the page that shows how to begin with programs.
type startView struct {
	Token     string
	HasKey    bool // the session has a key, which the page can fill in
	Shown     bool // it is filled in
	CanMake   bool // the visitor makes keys at another page
	Generator string
	Snippets  []snippet
}

// keyPlaceholder stands for a key where none is shown.
const keyPlaceholder = "YOUR-API-KEY"

// startPage shows how to begin, with a placeholder for the key.
func (c *Console) startPage(v *request) error { return c.showStart(v, keyPlaceholder) }

// startWithKey shows it with the key of the session. It is a form's answer, so that no
// address leads to a page with a key.
func (c *Console) startWithKey(v *request) error {
	if v.session.Key == "" {
		return c.showStart(v, keyPlaceholder)
	}
	return c.showStart(v, v.session.Key)
}

func (c *Console) showStart(v *request, key string) error {
	models, err := c.service.Models(v.ctx(), v.caller)
	if err != nil {
		return err
	}
	generator, decider := model.DefaultGenerator, model.DefaultDecider
	for i := len(models) - 1; i >= 0; i-- {
		if models[i].Generates {
			generator = models[i].ID
		}
		if models[i].Decides {
			decider = models[i].ID
		}
	}
	return v.render("start", "Quick start", startView{
		Token: v.session.Token, HasKey: v.session.Key != "", Shown: key != keyPlaceholder, CanMake: v.session.Person != nil, Generator: generator,
		Snippets: quickStarts(v.origin(), key, generator, decider),
	})
}

// quickStarts are programs that ask for one answer. Names of models and the key are
// quoted as the languages have it.
func quickStarts(origin, key, generator, decider string) []snippet {
	quoted := func(text string) string { return string(marshal(text)) } // as JSON, Python, JavaScript, Go and TOML have it
	shell := func(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
	base := origin + "/v1"
	body := fmt.Sprintf(`{"model": %s, "input": "Say hello."}`, quoted(generator))
	decision := fmt.Sprintf(`{"model": %s, "state": "I was charged twice.", "questions": {"charged": {"type": "noul", "instructions": "Was the customer charged twice?"}}}`, quoted(decider))
	return []snippet{
		{"curl", fmt.Sprintf("export SVC_API_KEY=%s\n\ncurl %s/responses -H \"Authorization: Bearer $SVC_API_KEY\" \\\n  -H \"Content-Type: application/json\" -d %s\n\n# a decision: a probability for every answer\ncurl %s/systemone -H \"Authorization: Bearer $SVC_API_KEY\" \\\n  -H \"Content-Type: application/json\" -d %s\n",
			shell(key), base, shell(body), base, shell(decision))},
		{"Python", fmt.Sprintf("# pip install openai\nfrom openai import OpenAI\n\nclient = OpenAI(base_url=%s, api_key=%s)\nprint(client.responses.create(model=%s, input=\"Say hello.\").output_text)\n",
			quoted(base), quoted(key), quoted(generator))},
		{"JavaScript", fmt.Sprintf("// npm install openai\nimport OpenAI from \"openai\";\n\nconst client = new OpenAI({ baseURL: %s, apiKey: %s });\nconst response = await client.responses.create({ model: %s, input: \"Say hello.\" });\nconsole.log(response.output_text);\n",
			quoted(base), quoted(key), quoted(generator))},
		{"Go", fmt.Sprintf(`// go get github.com/openai/openai-go/v3
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
)

func main() {
	client := openai.NewClient(option.WithBaseURL(%s), option.WithAPIKey(%s))
	response, err := client.Responses.New(context.Background(), responses.ResponseNewParams{
		Model: %s,
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("Say hello.")},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(response.OutputText())
}
`, quoted(base), quoted(key), quoted(generator))},
		{"codex", fmt.Sprintf("# in ~/.codex/config.toml; then: SVC_API_KEY=%s codex\nmodel = %s\nmodel_provider = \"svc\"\n\n[model_providers.svc]\nname = \"svc\"\nbase_url = %s\nenv_key = \"SVC_API_KEY\"\nwire_api = \"responses\"\n",
			shell(key), quoted(generator), quoted(base))},
		{"Claude Code", fmt.Sprintf("export ANTHROPIC_BASE_URL=%s ANTHROPIC_AUTH_TOKEN=%s\nexport ANTHROPIC_MODEL=%s ANTHROPIC_SMALL_FAST_MODEL=%s\nclaude\n",
			shell(origin), shell(key), shell(generator), shell(generator))},
	}
}
