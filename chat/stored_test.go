package chat_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/chat"
	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
	"github.com/seed-506d8e5d/svc/model/modeltest"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

func missing(id string) error {
	return fault.Missing("completion_not_found", "chat completion", id)
}

func TestAStoredCompletionReadsBackAsItWas(t *testing.T) {
	for name, answer := range map[string]modeltest.Answer{
		"text":  modeltest.Text("Hel", "lo").WithUsage(model.Usage{InputTokens: 4, CachedTokens: 3, OutputTokens: 2, ReasoningTokens: 1}),
		"empty": modeltest.Text().WithFinish(model.Length),
		"calls": modeltest.Calls(weather),
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, answer)
			req := ask("Hi")
			req.Metadata = map[string]string{"k": "v"}
			made := e.complete(req)
			got, err := e.Get(t.Context(), e.caller, made.ID)
			e.ok(err)
			if got.Trace.Cost == 0 {
				t.Error("the stored completion does not say what it cost")
			}
			made.Trace = got.Trace
			equal(t, got, made)
		})
	}
}

func TestNothingIsStoredWhereStoreIsFalseOrTheOrganizationForbidsIt(t *testing.T) {
	for name, call := range map[string]func(*env, *chat.Request){
		"store false":         func(e *env, req *chat.Request) { req.Store = ptr(false) },
		"zero data retention": func(e *env, req *chat.Request) { e.caller.ZeroDataRetention = true },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, modeltest.Text("the secret answer"))
			req := ask("the secret question")
			req.Metadata = map[string]string{"k": "the secret tag"}
			req.Messages[0].Content = append(req.Messages[0].Content, chat.File{Name: "secret.txt", Data: []byte("the secret file")})
			call(e, req)
			made := e.complete(req)

			equal(t, e.kept(e.caller), nil)
			equal(t, e.uses(e.caller), []accounts.Use{generated(made.ID)})
			e.ok(e.store.View(t.Context(), e.caller.Namespace(), func(tx storage.Tx) error {
				for entry, err := range tx.Scan(storage.Range{}) {
					if err != nil {
						return err
					}
					if strings.Contains(string(entry.Value), "secret") {
						t.Errorf("%s: %s", entry.Key, entry.Value)
					}
				}
				return nil
			}))
			_, err := e.Get(t.Context(), e.caller, made.ID)
			equal(t, err, missing(made.ID))
		})
	}
}

func TestStoreTrueIsTheDefault(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	req := ask("Hi")
	req.Store = ptr(true)
	e.complete(req)
	equal(t, e.kept(e.caller), []string{"c/m/chatcmpl_01", "c/o/chatcmpl_01"})
}

func TestMarkupIsStoredAtItsSize(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	e.script.Count = func(*model.Request) (int, error) { return 1, nil }
	e.complete(ask(strings.Repeat("<", storage.MaxValue/2)))
	equal(t, e.kept(e.caller), []string{"c/m/chatcmpl_01", "c/o/chatcmpl_01"})
}

func TestMessagesTooLargeToStoreAreRefusedBeforeTheModelIsCalled(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	e.script.Count = func(*model.Request) (int, error) { return 1, nil }
	req := ask(strings.Repeat("x", storage.MaxValue))
	_, err := e.Complete(t.Context(), e.caller, req)
	equal(t, err, error(&fault.Error{Kind: fault.TooLarge, Code: "request_too_large", Param: "messages",
		Message: "The messages are too large to be stored; send them with store false."}))
	equal(t, e.script.Requests(), nil)

	req.Store = ptr(false)
	e.complete(req)
}

func TestACompletionTooLargeToStoreIsCharged(t *testing.T) {
	e := newEnv(t, modeltest.Text(strings.Repeat("x", storage.MaxValue)))
	_, err := e.Complete(t.Context(), e.caller, ask("Hi"))
	equal(t, err, error(&fault.Error{Kind: fault.TooLarge, Code: "request_too_large",
		Message: "The completion is too large to be stored. Completions with store false are not."}))
	equal(t, e.kept(e.caller), nil)
	equal(t, len(e.uses(e.caller)), 1)
}

// TestWhatDoesNotFitBesideItsMessages has a completion that one value can hold, but
// no transaction with its messages and its charge.
func TestWhatDoesNotFitBesideItsMessages(t *testing.T) {
	e := newEnv(t, modeltest.Text(strings.Repeat("x", storage.MaxValue-1000)))
	e.script.Count = func(*model.Request) (int, error) { return 1, nil }
	_, err := e.Complete(t.Context(), e.caller, ask(strings.Repeat("x", storage.MaxValue-1000)))
	equal(t, fault.From(err).Kind, fault.TooLarge)
	equal(t, len(e.uses(e.caller)), 1)
}

func TestLogprobsThatAreTooLargeAreNotStored(t *testing.T) {
	token := model.Logprob{Token: "x", Top: []model.Logprob{{Token: strings.Repeat("y", storage.MaxValue)}}}
	e := newEnv(t, modeltest.Events(model.Logprobs{Tokens: []model.Logprob{token}}, model.TextDelta{Text: "x"}, modeltest.DefaultUsage, model.Finish{Reason: model.Stop}))
	req := ask("Hi")
	req.Logprobs, req.TopLogprobs = true, ptr(1)
	made := e.complete(req)
	equal(t, len(made.Logprobs), 1)
	stored, err := e.Get(t.Context(), e.caller, made.ID)
	e.ok(err)
	equal(t, stored.Logprobs, nil)
	equal(t, *stored.Content, "x")
	equal(t, len(e.uses(e.caller)), 1)
}

func TestAnotherOrganizationsCompletionIsMissing(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	id := e.complete(ask("Hi")).ID
	other := e.organization(accounts.NewOrganization{Name: "two", Credits: accounts.Dollar})
	for _, id := range []string{id, "", "unknown", strings.Repeat("x", 10_000)} {
		_, err := e.Get(t.Context(), other, id)
		equal(t, err, missing(id))
		_, err = e.Messages(t.Context(), other, id, page.Params{})
		equal(t, err, missing(id))
		_, err = e.Update(t.Context(), other, id, nil)
		equal(t, err, missing(id))
		equal(t, e.Delete(t.Context(), other, id), missing(id))
	}
	list, err := e.List(t.Context(), other, chat.Filter{}, page.Params{})
	e.ok(err)
	equal(t, list, page.Page[chat.Completion]{Items: []chat.Completion{}})
	_, err = e.Get(t.Context(), e.caller, id)
	e.ok(err)
}

func TestLists(t *testing.T) {
	e := newEnvOver(t, &modeltest.Script{
		Infos:   []model.Info{{ID: "a", Generates: true}, {ID: "b<", Generates: true}},
		Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("x") },
	}, nilDocuments{})
	for i := range 5 {
		req := ask("Hi")
		req.Model = []string{"a", "b<"}[i%2]
		req.Metadata = map[string]string{"third": fmt.Sprint(i / 3), "i": fmt.Sprint(i), "all": "a"}
		e.complete(req)
	}
	cases := []struct {
		rule   string
		filter chat.Filter
		params page.Params
		want   []string
		more   bool
	}{
		{"oldest first", chat.Filter{}, page.Params{}, []string{"01", "02", "03", "04", "05"}, false},
		{"newest first", chat.Filter{}, page.Params{Desc: true}, []string{"05", "04", "03", "02", "01"}, false},
		{"limit", chat.Filter{}, page.Params{Limit: 2}, []string{"01", "02"}, true},
		{"after", chat.Filter{}, page.Params{Limit: 3, After: "chatcmpl_02"}, []string{"03", "04", "05"}, false},
		{"after, newest first", chat.Filter{}, page.Params{Limit: 1, After: "chatcmpl_02", Desc: true}, []string{"01"}, false},
		{"after one that is gone", chat.Filter{}, page.Params{After: "chatcmpl_035"}, []string{"04", "05"}, false},
		{"of a model", chat.Filter{Model: "b<"}, page.Params{}, []string{"02", "04"}, false},
		{"with a tag", chat.Filter{Metadata: map[string]string{"third": "1"}}, page.Params{}, []string{"04", "05"}, false},
		{"with all tags", chat.Filter{Metadata: map[string]string{"third": "1", "i": "4"}}, page.Params{}, []string{"05"}, false},
		{"with a tag that none has", chat.Filter{Metadata: map[string]string{"other": ""}}, page.Params{}, nil, false},
		{"more only if it matches", chat.Filter{Model: "b<"}, page.Params{Limit: 2}, []string{"02", "04"}, false},
		{"with a tag, a page", chat.Filter{Metadata: map[string]string{"all": "a"}}, page.Params{Limit: 2, After: "chatcmpl_02"}, []string{"03", "04"}, true},
		{"with tags, newest first", chat.Filter{Metadata: map[string]string{"all": "a", "third": "0"}}, page.Params{Limit: 2, Desc: true}, []string{"03", "02"}, true},
		{"with tags, newest first, after", chat.Filter{Metadata: map[string]string{"all": "a", "third": "0"}}, page.Params{Limit: 2, Desc: true, After: "chatcmpl_02"}, []string{"01"}, false},
		{"with a tag, of a model", chat.Filter{Model: "a", Metadata: map[string]string{"third": "0"}}, page.Params{}, []string{"01", "03"}, false},
		{"of a model that none has", chat.Filter{Model: "c"}, page.Params{}, nil, false},
		{"of a model, newest first", chat.Filter{Model: "a"}, page.Params{Limit: 2, Desc: true}, []string{"05", "03"}, true},
	}
	for _, broken := range []bool{true, false} { // as long as nothing can be indexed all are read
		e.store.broken = broken
		for _, c := range cases {
			t.Run(fmt.Sprintf("%s, indexed %v", c.rule, !broken), func(t *testing.T) {
				got, err := e.List(t.Context(), e.caller, c.filter, c.params)
				e.ok(err)
				var ids []string
				for _, item := range got.Items {
					ids = append(ids, strings.TrimPrefix(item.ID, "chatcmpl_"))
				}
				equal(t, ids, c.want)
				equal(t, got.HasMore, c.more)
			})
		}
	}
	_, err := e.List(t.Context(), e.caller, chat.Filter{}, page.Params{Limit: 101})
	equal(t, err, error(fault.Invalidf("limit", "limit must be between 1 and 100.")))
}

// TestFilteredListsReadWhatTheyShow counts what lists that are filtered by tags read
// of an organization with many completions, from the first list on.
func TestFilteredListsReadWhatTheyShow(t *testing.T) {
	e := newEnvOver(t, &modeltest.Script{Respond: func(*model.Request) modeltest.Answer { return modeltest.Text("x") }}, nilDocuments{})
	for i := range 700 {
		req := ask("Hi")
		req.Metadata = map[string]string{"i": fmt.Sprint(i)}
		e.complete(req)
	}
	for _, c := range []struct {
		tag  string
		want int
	}{{"x", 0}, {"600", 1}} {
		e.store.read = 0
		got, err := e.List(t.Context(), e.caller, chat.Filter{Metadata: map[string]string{"i": c.tag}}, page.Params{})
		e.ok(err)
		equal(t, len(got.Items), c.want)
		equal(t, e.store.read, c.want)
	}
}

// TestTagsOfOlderCompletions has more completions than a list indexes at once that an
// earlier version has stored, without their tags in the index.
func TestTagsOfOlderCompletions(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	filter := chat.Filter{Metadata: map[string]string{"k": "v"}}
	req := ask("Hi")
	req.Metadata = filter.Metadata
	id := e.complete(req).ID
	const older = 2600
	e.ok(e.store.Update(t.Context(), e.caller.Namespace(), func(tx storage.Tx) error {
		for entry, err := range tx.Scan(storage.Prefix([]byte("c/t/"))) {
			if err != nil {
				return err
			}
			if err := tx.Delete(entry.Key); err != nil {
				return err
			}
		}
		record, err := tx.Get([]byte("c/o/" + id))
		for i := range older {
			err = errors.Join(err, tx.Set(fmt.Appendf(nil, "c/o/chatcmpl_00%04d", i), record))
		}
		return err
	}))
	found := func() int {
		n := 0
		for p := (page.Params{Limit: 100}); ; {
			list, err := e.List(t.Context(), e.caller, filter, p)
			e.ok(err)
			n += len(list.Items)
			if !list.HasMore {
				return n
			}
			p.After = list.Items[len(list.Items)-1].ID
		}
	}
	equal(t, found(), older+1)
	e.ok(e.IndexTags(t.Context(), e.caller))
	equal(t, found(), older+1)

	// What is changed and deleted afterwards is found as it is.
	_, err := e.Update(t.Context(), e.caller, id, map[string]string{"k": "w"})
	e.ok(err)
	equal(t, found(), older)
	e.ok(e.Delete(t.Context(), e.caller, "chatcmpl_000000"))
	equal(t, found(), older-1)
	filter.Metadata = map[string]string{"k": "w"}
	equal(t, found(), 1)
	e.ok(e.Delete(t.Context(), e.caller, id))
	equal(t, found(), 0)
	e.ok(e.store.View(t.Context(), e.caller.Namespace(), func(tx storage.Tx) error {
		for entry, err := range tx.Scan(storage.Prefix([]byte("c/t/"))) {
			if err != nil {
				return err
			}
			if strings.HasSuffix(string(entry.Key), id) || strings.HasSuffix(string(entry.Key), "chatcmpl_000000") {
				t.Errorf("%q is left of what was deleted", entry.Key)
			}
		}
		return nil
	}))
}

// nilDocuments are for tests without files.
type nilDocuments struct{ chat.Documents }

func TestMessagesOfAStoredCompletion(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	req := ask("Hi")
	req.Messages = []chat.Message{
		message(chat.Developer, "d"),
		{Role: model.User, Content: []chat.Part{chat.Text(""), chat.File{Name: "a.md", MIMEType: "text/markdown", Data: []byte("# A")}}},
		calling(weather), result("call_a", "rain"),
	}
	id := e.complete(req).ID
	var all []chat.StoredMessage
	for i, m := range req.Messages {
		all = append(all, chat.StoredMessage{ID: fmt.Sprintf("%s-%d", id, i), Message: m})
	}
	for _, c := range []struct {
		rule   string
		params page.Params
		want   page.Page[chat.StoredMessage]
	}{
		{"in their order", page.Params{}, page.Page[chat.StoredMessage]{Items: all}},
		{"limit", page.Params{Limit: 3}, page.Page[chat.StoredMessage]{Items: all[:3], HasMore: true}},
		{"after", page.Params{After: id + "-0", Limit: 3}, page.Page[chat.StoredMessage]{Items: all[1:]}},
		{"after the last", page.Params{After: id + "-3"}, page.Page[chat.StoredMessage]{Items: []chat.StoredMessage{}}},
		{"last first", page.Params{Desc: true, Limit: 2}, page.Page[chat.StoredMessage]{Items: []chat.StoredMessage{all[3], all[2]}, HasMore: true}},
		{"after, last first", page.Params{After: id + "-1", Desc: true}, page.Page[chat.StoredMessage]{Items: []chat.StoredMessage{all[0]}}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			got, err := e.Messages(t.Context(), e.caller, id, c.params)
			e.ok(err)
			equal(t, got, c.want)
		})
	}
	for _, after := range []string{id, id + "-", id + "-4", id + "--1", "other-1"} {
		_, err := e.Messages(t.Context(), e.caller, id, page.Params{After: after})
		equal(t, err, error(fault.Invalidf("after", "after is not the ID of a message of this completion.")))
	}
}

func TestAnUploadedFileIsKeptByItsID(t *testing.T) {
	e := newEnvOver(t, modeltest.New(modeltest.Text("a")), uploads{})
	req := ask("Hi")
	part(chat.File{ID: "file_1"})(req)
	id := e.complete(req).ID
	equal(t, e.script.Requests()[0].Messages, []model.Message{{Role: model.User, Parts: []model.Part{model.Document{Name: "file_1", Text: "its text"}}}})
	got, err := e.Messages(t.Context(), e.caller, id, page.Params{})
	e.ok(err)
	equal(t, got.Items, []chat.StoredMessage{{ID: id + "-0", Message: req.Messages[0]}})
}

func TestUpdateReplacesTheTags(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	req := ask("Hi")
	req.Metadata = map[string]string{"old": "1"}
	made := e.complete(req)
	for _, tags := range []map[string]string{{"new": "2"}, {}} {
		made.Metadata = tags
		got, err := e.Update(t.Context(), e.caller, made.ID, tags)
		e.ok(err)
		made.Trace = got.Trace
		equal(t, got, made)
		got, err = e.Get(t.Context(), e.caller, made.ID)
		e.ok(err)
		equal(t, got, made)
	}
	_, err := e.Update(t.Context(), e.caller, made.ID, map[string]string{strings.Repeat("k", 65): ""})
	equal(t, fault.From(err).Param, "metadata")
}

func TestDeleteLeavesNothingButTheLedger(t *testing.T) {
	e := newEnv(t, modeltest.Text("a"))
	id := e.complete(ask("Hi")).ID
	e.ok(e.Delete(t.Context(), e.caller, id))
	equal(t, e.kept(e.caller), nil)
	equal(t, e.Delete(t.Context(), e.caller, id), missing(id))
	equal(t, e.uses(e.caller), []accounts.Use{generated(id)})
}
