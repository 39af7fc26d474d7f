package compat

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/responses"

	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func TestFiles(t *testing.T) {
	backend := modeltest.New(modeltest.Text("Yes."), modeltest.Text("Yes."))
	client := connect(t, backend)
	ctx := t.Context()
	var made []*openai.FileObject
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		file, err := client.Files.New(ctx, openai.FileNewParams{
			File: openai.File(strings.NewReader("Some notes."), name, "text/plain"), Purpose: openai.FilePurposeAssistants,
			ExpiresAfter: openai.FileNewParamsExpiresAfter{Seconds: 3600},
		})
		check(t, err)
		equal(t, "name", file.Filename, name)
		equal(t, "status", file.Status, openai.FileObjectStatusProcessed)
		equal(t, "expires", file.ExpiresAt, file.CreatedAt+3600)
		made = append(made, file)
	}
	// A reader without a type is sent as application/octet-stream.
	_, err := client.Files.New(ctx, openai.FileNewParams{File: strings.NewReader("x"), Purpose: openai.FilePurposeAssistants})
	refused, _ := errors.AsType[*openai.Error](err)
	if refused == nil || refused.StatusCode != 400 || refused.Code != "unsupported_file_type" || refused.Param != "file" {
		t.Errorf("a file without a type: %v", err)
	}

	got, err := client.Files.Get(ctx, made[0].ID)
	check(t, err)
	equal(t, "file", got.RawJSON(), made[0].RawJSON())

	var names string
	listed := client.Files.ListAutoPaging(ctx, openai.FileListParams{Limit: openai.Int(1), Order: "asc", Purpose: openai.String("assistants")})
	for listed.Next() {
		names += listed.Current().Filename + " "
	}
	check(t, listed.Err())
	equal(t, "files", names, "a.txt b.txt c.txt ")

	resp, err := client.Files.Content(ctx, made[0].ID)
	check(t, err)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	check(t, err)
	equal(t, "content", string(content), "Some notes.")

	params := turn("")
	params.Input = responses.ResponseNewParamsInputUnion{OfInputItemList: []responses.ResponseInputItemUnionParam{responses.ResponseInputItemParamOfMessage(
		responses.ResponseInputMessageContentListParam{
			responses.ResponseInputContentParamOfInputText("Read."),
			{OfInputFile: &responses.ResponseInputFileParam{FileID: openai.String(made[0].ID)}},
		}, "user")}}
	_, err = client.Responses.New(ctx, params)
	check(t, err)
	_, err = client.Chat.Completions.New(ctx, openai.ChatCompletionNewParams{Model: modelID, Messages: []openai.ChatCompletionMessageParamUnion{
		openai.UserMessage([]openai.ChatCompletionContentPartUnionParam{
			openai.TextContentPart("Read."),
			openai.FileContentPart(openai.ChatCompletionContentPartFileFileParam{FileID: openai.String(made[0].ID)}),
		}),
	}})
	check(t, err)
	for _, request := range backend.Requests() {
		equal[model.Part](t, "document", request.Messages[0].Parts[1], model.Document{Name: "a.txt", Text: "Some notes."})
	}
	equal(t, "requests", len(backend.Requests()), 2)

	deleted, err := client.Files.Delete(ctx, made[0].ID)
	check(t, err)
	equal(t, "deleted", deleted.Deleted, true)
	_, err = client.Files.Get(ctx, made[0].ID)
	refused, _ = errors.AsType[*openai.Error](err)
	if refused == nil || refused.StatusCode != 404 || refused.Code != "not_found" {
		t.Errorf("a deleted file: %v", err)
	}
}
