package compat

import (
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/conversations"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/seed-506d8e5d/svc/model/modeltest"
)

func said(texts ...string) []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	for _, text := range texts {
		items = append(items, responses.ResponseInputItemParamOfMessage(text, "user"))
	}
	return items
}

func TestConversations(t *testing.T) {
	client := connect(t, script(modeltest.Text("Three.")))
	ctx := t.Context()
	made, err := client.Conversations.New(ctx, conversations.ConversationNewParams{
		Items: said("one"), Metadata: shared.Metadata{"topic": "numbers"},
	})
	check(t, err)
	got, err := client.Conversations.Get(ctx, made.ID)
	check(t, err)
	equal(t, "conversation", got.RawJSON(), made.RawJSON())

	updated, err := client.Conversations.Update(ctx, made.ID, conversations.ConversationUpdateParams{Metadata: shared.Metadata{"topic": "counting"}})
	check(t, err)
	equal(t, "created", updated.CreatedAt, made.CreatedAt)

	added, err := client.Conversations.Items.New(ctx, made.ID, conversations.ItemNewParams{Items: said("two")})
	check(t, err)
	equal(t, "added", len(added.Data), 1)

	params := turn("What comes next?")
	params.Conversation.OfString = openai.String(made.ID)
	_, err = client.Responses.New(ctx, params)
	check(t, err)

	var texts []string
	listed := client.Conversations.Items.ListAutoPaging(ctx, made.ID, conversations.ItemListParams{Limit: openai.Int(1), Order: "asc"})
	for listed.Next() {
		texts = append(texts, listed.Current().AsMessage().Content[0].Text)
	}
	check(t, listed.Err())
	want := []string{"one", "two", "What comes next?", "Three."}
	equal(t, "items", len(texts), len(want))
	for i := range texts {
		equal(t, "item", texts[i], want[i])
	}

	item, err := client.Conversations.Items.Get(ctx, made.ID, added.Data[0].ID, conversations.ItemGetParams{})
	check(t, err)
	equal(t, "item", item.AsMessage().Content[0].Text, "two")
	after, err := client.Conversations.Items.Delete(ctx, made.ID, added.Data[0].ID)
	check(t, err)
	equal(t, "parent", after.ID, made.ID)
	_, err = client.Conversations.Items.Get(ctx, made.ID, added.Data[0].ID, conversations.ItemGetParams{})
	wantStatus(t, err, 404)

	deleted, err := client.Conversations.Delete(ctx, made.ID)
	check(t, err)
	equal(t, "deleted", deleted.Deleted, true)
	_, err = client.Conversations.Get(ctx, made.ID)
	wantStatus(t, err, 404)
}
