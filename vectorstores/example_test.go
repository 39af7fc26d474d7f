package vectorstores_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/vectorstores"
)

// A service in memory indexes a text and finds a passage of it.
func Example() {
	ctx := context.Background()
	quiet := slog.New(slog.DiscardHandler)
	service, err := svc.New(ctx, svc.Options{Logger: quiet})
	if err != nil {
		log.Fatal(err)
	}
	defer service.Close()
	p := service.Parts()
	stores := vectorstores.New(vectorstores.Options{
		Store: p.Store, Cluster: p.Cluster, Accounts: p.Accounts, Files: p.Files, Now: p.Now, NewID: p.NewID, Log: quiet,
	})
	defer stores.Close()
	key, err := service.Bootstrap(ctx, "")
	if err != nil {
		log.Fatal(err)
	}
	caller, err := service.Authenticate(ctx, key)
	if err != nil {
		log.Fatal(err)
	}
	file, err := service.UploadFile(ctx, caller, files.Upload{
		Filename: "hours.md", MIMEType: "text/markdown", Purpose: files.Purpose, Content: strings.NewReader("The museum opens at nine in the morning."),
	})
	if err != nil {
		log.Fatal(err)
	}
	store, err := stores.Create(ctx, caller, vectorstores.NewStore{Files: []string{file.ID}})
	for err == nil && store.Status == vectorstores.InProgress {
		time.Sleep(10 * time.Millisecond)
		store, err = stores.Get(ctx, caller, store.ID)
	}
	if err != nil {
		log.Fatal(err)
	}
	found, err := stores.Search(ctx, caller, store.ID, vectorstores.Query{Texts: []string{"When does the museum open?"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range found.Items {
		fmt.Println(r.Filename, r.Text)
	}
	// Output: hours.md The museum opens at nine in the morning.
}
