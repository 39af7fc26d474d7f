package accounts

import (
	"bytes"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/page"
	"github.com/seed-506d8e5d/svc/storage"
)

func TestCreateKeyShowsTheKeyOnce(t *testing.T) {
	store := newStore(t)
	s := newService(t, store)
	o := newOrganization(t, s, 0)
	k := newKey(t, s, NewKey{OrganizationID: o.ID, Name: "ci", Models: []string{"svc-preview"}})
	if !regexp.MustCompile(`^sk-svc-[A-Za-z0-9_-]{43}$`).MatchString(k.Secret) {
		t.Errorf("the key is %q", k.Secret)
	}
	if k.Prefix != k.Secret[:12] {
		t.Errorf("prefix %q of key %q, want its first 12 characters", k.Prefix, k.Secret)
	}
	wantJSON(t, k, `{"id":"key_0003","object":"api_key","organization_id":"org_0001","name":"ci","models":["svc-preview"],`+
		`"prefix":"`+k.Prefix+`","created_at":1700000000,"last_used_at":null,"key":"`+k.Secret+`"}`)

	shown := k
	shown.Secret = ""
	keys, err := s.Keys(t.Context(), "", page.Params{})
	if err != nil || !reflect.DeepEqual(keys, page.Page[APIKey]{Items: []APIKey{shown}}) {
		t.Errorf("Keys: got %+v, %v, want %+v", keys, err, shown)
	}
	for e := range everything(t, store, system) {
		if bytes.Contains(e, []byte(k.Secret)) {
			t.Errorf("the key is stored in %q", e)
		}
	}
}

// everything yields the keys and values of a namespace.
func everything(t *testing.T, store storage.Store, ns storage.Namespace) func(func([]byte) bool) {
	return func(yield func([]byte) bool) {
		err := store.View(t.Context(), ns, func(tx storage.Tx) error {
			for e, err := range tx.Scan(storage.Range{}) {
				if err != nil || !yield(append(e.Key, e.Value...)) {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestKeyWithoutOrganizationInJSON(t *testing.T) {
	wantJSON(t, APIKey{ID: "key_1", Prefix: "sk-svc-abcde", CreatedAt: 5, LastUsedAt: 7},
		`{"id":"key_1","object":"api_key","organization_id":null,"name":"","models":null,"prefix":"sk-svc-abcde",`+
			`"created_at":5,"last_used_at":7}`)
}

func TestKeyRefusals(t *testing.T) {
	s := newService(t, newStore(t))
	create := func(n NewKey) error { _, err := s.CreateKey(t.Context(), n); return err }
	noKey := fault.Error{Kind: fault.NotFound, Code: CodeKeyNotFound}
	for name, test := range map[string]struct {
		err  error
		want fault.Error
	}{
		"no such organization": {create(NewKey{OrganizationID: "org_none"}), fault.Error{Kind: fault.NotFound, Code: CodeOrganizationNotFound}},
		"long name":            {create(NewKey{Name: strings.Repeat("n", 257)}), invalid("name")},
		"no models":            {create(NewKey{Models: []string{}}), invalid("models")},
		"many models":          {create(NewKey{Models: make([]string, maxModels+1)}), invalid("models")},
		"empty model":          {create(NewKey{Models: []string{""}}), invalid("models")},
		"long model":           {create(NewKey{Models: []string{strings.Repeat("m", 257)}}), invalid("models")},
		"revoke none":          {s.RevokeKey(t.Context(), "key_none"), noKey},
		"revoke a long id":     {s.RevokeKey(t.Context(), strings.Repeat("k", 1000)), noKey},
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, test.err, test.want) })
	}
}

func TestKeysArePagedByOrganization(t *testing.T) {
	s := newService(t, newStore(t))
	one, two := newOrganization(t, s, 0), newOrganization(t, s, 0)
	var ofOne, all []APIKey
	for _, organization := range []string{one.ID, two.ID, "", one.ID, one.ID} {
		k := newKey(t, s, NewKey{OrganizationID: organization})
		k.Secret = ""
		all = append(all, k)
		if organization == one.ID {
			ofOne = append(ofOne, k)
		}
	}
	for name, test := range map[string]struct {
		organization string
		params       page.Params
		want         page.Page[APIKey]
	}{
		"all":                    {"", page.Params{}, page.Page[APIKey]{Items: all}},
		"all, second page":       {"", page.Params{Limit: 2, After: all[1].ID}, page.Page[APIKey]{Items: all[2:4], HasMore: true}},
		"of one":                 {one.ID, page.Params{}, page.Page[APIKey]{Items: ofOne}},
		"of one, first page":     {one.ID, page.Params{Limit: 2}, page.Page[APIKey]{Items: ofOne[:2], HasMore: true}},
		"of one, newest":         {one.ID, page.Params{Limit: 1, Desc: true}, page.Page[APIKey]{Items: ofOne[2:], HasMore: true}},
		"of none":                {"org_none", page.Params{}, page.Page[APIKey]{Items: []APIKey{}}},
		"of an endless name":     {strings.Repeat("o", 1000), page.Params{}, page.Page[APIKey]{Items: []APIKey{}}},
		"of a name with a key":   {one.ID + "/" + ofOne[0].ID, page.Params{}, page.Page[APIKey]{Items: []APIKey{}}},
		"of the start of a name": {one.ID[:5], page.Params{}, page.Page[APIKey]{Items: []APIKey{}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Keys(t.Context(), test.organization, test.params)
			if err != nil || !reflect.DeepEqual(got, test.want) {
				t.Errorf("got %+v, %v, want %+v", got, err, test.want)
			}
		})
	}
}

func TestRevokedKeyLeavesNothingButTheAuditLog(t *testing.T) {
	store := newStore(t)
	s := newService(t, store)
	k := newKey(t, s, NewKey{OrganizationID: newOrganization(t, s, 0).ID})
	if _, err := s.Authenticate(t.Context(), k.Secret); err != nil {
		t.Fatal(err)
	}
	if err := s.flushLastUsed(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.RevokeKey(t.Context(), k.ID); err != nil {
		t.Fatal(err)
	}
	for e := range everything(t, store, system) {
		if bytes.Contains(e, []byte(k.ID)) && !bytes.HasPrefix(e, []byte(auditPrefix)) {
			t.Errorf("left: %q", e)
		}
	}
	log, err := s.AuditLog(t.Context(), page.Params{Desc: true, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	wantJSON(t, records(log.Items), `[{"id":"audit_0005","action":"api_key.revoke","subject":"key_0003","created_at":1700000000}]`)
}
