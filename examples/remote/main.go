// Command remote does the same with an embedded service and with a server: only
// the line that makes the service differs. SVC_URL and SVC_API_KEY name a server;
// without them the program starts one of its own.
package main

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"os"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/httpapi"
	"github.com/seed-506d8e5d/svc/responses"
)

// service is what this program uses of either.
type service interface {
	LocalCaller(context.Context) (svc.Caller, error)
	CreateResponse(context.Context, svc.Caller, *responses.Request) (*responses.Response, error)
}

// ask is the program.
func ask(ctx context.Context, s service) (string, error) {
	caller, err := s.LocalCaller(ctx)
	if err != nil {
		return "", err
	}
	response, err := s.CreateResponse(ctx, caller, &responses.Request{
		Model: "svc-preview", Input: responses.Text("Water boils at 100 degrees. When does water boil?"),
	})
	if err != nil {
		return "", err
	}
	return response.OutputText(), nil
}

func main() {
	ctx := context.Background()
	embedded, err := svc.New(ctx, svc.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer embedded.Close()
	url, key := os.Getenv("SVC_URL"), os.Getenv("SVC_API_KEY")
	if url == "" {
		server := httptest.NewServer(httpapi.New(embedded, httpapi.Options{}))
		defer server.Close()
		url, key = server.URL, "sk-example"
		if _, err := embedded.Bootstrap(ctx, key); err != nil {
			log.Fatal(err)
		}
	}
	for _, s := range []service{embedded, client.New(url, key)} {
		fmt.Println(ask(ctx, s))
	}
}
