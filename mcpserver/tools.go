package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// tool is a tool and what runs it. A result has whatever went wrong: the model that
// called the tool can mend it.
type tool struct {
	tool *mcp.Tool
	run  func(c *call, arguments json.RawMessage) *mcp.CallToolResult
}

// tools are all tools, in the order in which they are listed by their names. The
// descriptions are for models; each ends with an example.
var tools = []tool{
	{
		tool: &mcp.Tool{
			Name: "decide", Title: "Decide", Annotations: readOnly,
			Description: "Answer questions about a state with probabilities. A question has a type: noul (the probability of yes), choice (one of several options), " +
				"score (a level of a scale) or labels (all options that apply). Criteria are an object of options with descriptions, or for score an array of levels from low to high. " +
				`Act on an answer with high confidence and escalate one with low. Example: {"state":"I was charged twice.","questions":{"team":{"type":"choice","instructions":"Who should handle this?","criteria":{"billing":"Charges and refunds","technical":"Errors and outages"}},"angry":{"type":"noul","instructions":"Is the customer angry?"}}}`,
			InputSchema: json.RawMessage(decideInput), OutputSchema: json.RawMessage(decideOutput),
		},
		run: func(c *call, arguments json.RawMessage) *mcp.CallToolResult {
			return c.post("/v1/systemone", arguments, decides, nil, structuredAnswer)
		},
	},
	{
		tool: &mcp.Tool{
			Name: "list_files", Title: "List files", Annotations: readOnly,
			Description: `List the files of the organization, newest first. A file with the status processed can be read. For the next page give the last id as after. Example: {"limit":10}`,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":100,"default":20},"after":{"type":"string","description":"ID of the file that the page comes after."}},"additionalProperties":false}`),
		},
		run: listFiles,
	},
	{
		tool: &mcp.Tool{
			Name: "read_file", Title: "Read a file", Annotations: readOnly,
			Description: `Read a page of the text of a file. The answer says how many pages there are. Example: {"file_id":"file_123","page":1}`,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"file_id":{"type":"string"},"page":{"type":"integer","minimum":1,"default":1}},"required":["file_id"],"additionalProperties":false}`),
		},
		run: readFile,
	},
	{
		tool: &mcp.Tool{
			Name: "rerank", Title: "Rerank", Annotations: readOnly,
			Description: `Order documents by how relevant they are to a query. Results have the index of the document and its relevance from 0 to 1, best first. Example: {"query":"refund policy","documents":["Opening hours","How to get your money back"],"top_n":1}`,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"},"documents":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":1000},"top_n":{"type":"integer","minimum":1},` + modelProperty + `},"required":["query","documents"]}`),
		},
		run: func(c *call, arguments json.RawMessage) *mcp.CallToolResult {
			return c.post("/v1/rerank", arguments, decides, nil, structuredAnswer)
		},
	},
	{
		tool: &mcp.Tool{
			Name: "respond", Title: "Ask a model", Annotations: &mcp.ToolAnnotations{DestructiveHint: new(bool), OpenWorldHint: new(bool)},
			Description: `Ask a model. It knows only what is in the input, unless previous_response_id continues an earlier answer. Example: {"input":"Summarize in five words: The meeting moved to Tuesday because the room is taken."}`,
			InputSchema: json.RawMessage(`{"type":"object","properties":{"input":{"type":"string"},"instructions":{"type":"string","description":"How the model should answer."},"previous_response_id":{"type":"string","description":"response_id of the answer to continue."},"max_output_tokens":{"type":"integer","minimum":1},` + modelProperty + `},"required":["input"]}`),
		},
		run: func(c *call, arguments json.RawMessage) *mcp.CallToolResult {
			whole := map[string]json.RawMessage{"stream": json.RawMessage("false"), "background": json.RawMessage("false")}
			return c.post("/v1/responses", arguments, generates, whole, responseAnswer)
		},
	},
}

var readOnly = &mcp.ToolAnnotations{ReadOnlyHint: true, IdempotentHint: true, OpenWorldHint: new(bool)}

const (
	modelProperty = `"model":{"type":"string","description":"ID of a model; leave it out for the default."}`

	decideInput = `{"type":"object","properties":{` +
		`"state":{"type":["string","object","array"],"description":"What is judged, such as a text or a record."},` +
		`"questions":{"type":"object","minProperties":1,"maxProperties":16,"description":"Questions by a name of your choice.","additionalProperties":{"type":"object","properties":{` +
		`"type":{"enum":["noul","choice","score","labels"]},"instructions":{"type":"string","description":"What is asked."},` +
		`"criteria":{"type":["object","array"],"description":"Options with descriptions, or levels from low to high; not needed for noul."}},"required":["type"]}},` +
		modelProperty + `},"required":["state","questions"]}`

	decideOutput = `{"type":"object","properties":{"model":{"type":"string"},"answers":{"type":"object","additionalProperties":{"type":"object","properties":{` +
		`"type":{"type":"string"},"noul":{"type":"number","description":"Probability of yes."},"choice":{"type":"string"},"score":{"type":"number"},` +
		`"labels":{"type":"array","items":{"type":"string"}},"probabilities":{"type":"object","additionalProperties":{"type":"number"}},` +
		`"confidence":{"type":"number","description":"Probability of the answer."}},"required":["type"]}},"usage":{"type":"object"}},"required":["model","answers","usage"]}`
)

func decides(m model.Info) bool { return m.Decides }

func generates(m model.Info) bool { return m.Generates }

// post sends arguments to a route, with the first model that suits where they name
// none and with what is fixed in their place. show makes the result of the answer.
func (c *call) post(path string, arguments json.RawMessage, suits func(model.Info) bool, fixed map[string]json.RawMessage, show func([]byte) *mcp.CallToolResult) *mcp.CallToolResult {
	var body map[string]json.RawMessage
	if err := decode(arguments, &body); err != nil {
		return failed(err)
	}
	if body["model"] == nil {
		models, err := c.o.Service.Models(c.ctx, c.caller)
		if err != nil {
			return failed(err)
		}
		for _, m := range models {
			if suits(m) {
				body["model"] = marshal(m.ID)
				break
			}
		}
	}
	for name, value := range fixed {
		body[name] = value
	}
	status, _, answer := c.answer(c.ctx, c.caller, path, marshal(body))
	if status != http.StatusOK {
		return refused(answer)
	}
	return show(answer)
}

// structuredAnswer is the result of a tool whose answer is that of its route.
func structuredAnswer(answer []byte) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: text(string(answer)), StructuredContent: json.RawMessage(answer)}
}

// responseAnswer is the text of a response, with its ID.
func responseAnswer(answer []byte) *mcp.CallToolResult {
	var r struct {
		ID     string
		Status string
		Output []struct {
			Type    string
			Content []struct{ Text string }
		}
		Error *struct{ Code, Message string }
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		return failed(err)
	}
	if r.Error != nil {
		return failed(&fault.Error{Kind: fault.Upstream, Code: r.Error.Code, Message: r.Error.Message})
	}
	said := struct {
		ResponseID string `json:"response_id"`
		Status     string `json:"status"`
		Text       string `json:"text"`
	}{ResponseID: r.ID, Status: r.Status}
	for _, item := range r.Output {
		if item.Type == "message" {
			for _, part := range item.Content {
				said.Text += part.Text
			}
		}
	}
	return structured(said)
}

// decode reads the arguments of a tool, which are an object with known members.
func decode(arguments json.RawMessage, into any) error {
	d := json.NewDecoder(bytes.NewReader(arguments))
	d.DisallowUnknownFields()
	if len(arguments) == 0 || string(arguments) == "null" {
		d = json.NewDecoder(bytes.NewReader([]byte("{}")))
	}
	if err := d.Decode(into); err != nil {
		return fault.Invalidf("", "The arguments do not fit the tool's input schema: %s.", err)
	}
	return nil
}

// structured is a result with a value and its JSON as text.
func structured(value any) *mcp.CallToolResult {
	return structuredAnswer(marshal(value))
}

// toolError is what a result says of an error: the code and message that the
// interface has.
type toolError struct {
	Error struct {
		Code    string  `json:"code"`
		Message string  `json:"message"`
		Param   *string `json:"param,omitempty"`
	} `json:"error"`
}

func failed(err error) *mcp.CallToolResult {
	e := fault.From(err)
	var shown toolError
	shown.Error.Code, shown.Error.Message = e.Code, e.Message
	if e.Param != "" {
		shown.Error.Param = &e.Param
	}
	return shown.result()
}

// refused is the result of a call that a route has refused with a body in one of its
// two shapes.
func refused(body []byte) *mcp.CallToolResult {
	var shapes struct {
		toolError
		Detail *struct {
			ErrorType string `json:"error_type"`
			Message   string `json:"message"`
		} `json:"detail"`
	}
	if err := json.Unmarshal(body, &shapes); err != nil {
		return failed(err)
	}
	shown := shapes.toolError
	if d := shapes.Detail; d != nil {
		shown.Error.Code, shown.Error.Message = d.ErrorType, d.Message
	}
	return shown.result()
}

func (e toolError) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: text(string(marshal(e))), IsError: true}
}

func text(s string) []mcp.Content { return []mcp.Content{&mcp.TextContent{Text: s}} }

// marshal encodes a value of the package's own.
func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // every value is strings, numbers and JSON that was read
	}
	return data
}
