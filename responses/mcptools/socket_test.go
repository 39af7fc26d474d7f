package mcptools_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"github.com/seed-506d8e5d/svc/model/modeltest"
)

// TestOverAWebSocket makes a turn that lists and calls over a WebSocket.
func TestOverAWebSocket(t *testing.T) {
	s := newTools(t)
	e := newEnv(t, named(s.URL), call("s__roll", `{}`), modeltest.Text("It is 4."))
	server := httptest.NewServer(e.api)
	t.Cleanup(server.Close)
	conn, _, err := websocket.Dial(t.Context(), server.URL+"/v1/responses", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + e.key}}})
	check(t, err)
	defer conn.CloseNow()
	check(t, conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"response.create","model":"svc-preview","input":"Roll.",`+free+`}`)))
	var stream strings.Builder
	for !strings.Contains(stream.String(), `"response.completed"`) {
		_, data, err := conn.Read(t.Context())
		check(t, err)
		stream.WriteString("data: " + string(data) + "\n\n")
	}
	got := events(t, stream.String())
	for _, want := range []string{"response.mcp_list_tools.completed", "response.mcp_call_arguments.done", "response.mcp_call.completed"} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no %s:\n%s", want, got)
		}
	}
}
