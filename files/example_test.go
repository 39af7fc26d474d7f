package files_test

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/files"
	"github.com/seed-506d8e5d/svc/storage/memstore"
)

// ocr is a reader of PDFs of one's own. Other formats go to the service's.
type ocr struct{ files.InProcess }

func (o ocr) Extract(ctx context.Context, doc io.Reader, size int64, format files.Format) (files.Extracted, error) {
	if format != files.PDF {
		return o.InProcess.Extract(ctx, doc, size, format)
	}
	return files.Extracted{Text: fmt.Sprintf("What is on a page of %d bytes", size), Pages: 1}, nil
}

func Example() {
	ctx := context.Background()
	store := memstore.New()
	defer store.Close()
	service, err := files.New(files.Options{Store: store, Extractor: ocr{}})
	if err != nil {
		panic(err)
	}
	defer service.Close()

	caller := accounts.Caller{Organization: "org_1"}
	file, err := service.Create(ctx, caller, files.Upload{
		Filename: "scan.pdf", MIMEType: "application/pdf", Content: strings.NewReader("%PDF-1.7"), Purpose: files.Purpose,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(file.Filename, file.Bytes, file.Status)

	document, err := service.Stored(ctx, caller, file.ID) // waits for the text
	if err != nil {
		panic(err)
	}
	fmt.Println(document.Text)
	// Output:
	// scan.pdf 8 uploaded
	// What is on a page of 8 bytes
}
