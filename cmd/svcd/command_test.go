package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/httpapi"
)

const testAdminKey = "the-admin-secret"

// newServer returns the URL of a server over an empty store, with a clock that
// stands still and IDs that count.
func newServer(t *testing.T) string {
	t.Helper()
	var ids atomic.Int64
	logger := slog.New(slog.DiscardHandler)
	service, err := svc.New(t.Context(), svc.Options{
		Logger: logger,
		Now:    func() time.Time { return time.Unix(1_700_000_000, 0) },
		NewID:  func(prefix string) string { return fmt.Sprintf("%s_%02d", prefix, ids.Add(1)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(httpapi.New(service, httpapi.Options{AdminKey: testAdminKey, Logger: logger}))
	t.Cleanup(func() {
		server.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	return server.URL
}

// svcd runs a command with the environment of an operator. line is split at
// spaces; ~ stands for a space in an argument.
func svcd(t *testing.T, url, line string) (stdout, stderr string, err error) {
	t.Helper()
	args := strings.Fields(line)
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "~", " ")
	}
	variables := map[string]string{"SVC_URL": url, "SVC_ADMIN_KEY": testAdminKey}
	var out, errs bytes.Buffer
	e := environment{args: args, getenv: func(name string) string { return variables[name] }, stdin: strings.NewReader("no\n"), stdout: &out, stderr: &errs}
	err = e.run(t.Context())
	return out.String(), errs.String(), err
}

var (
	keyPattern    = regexp.MustCompile(`sk-svc-[A-Za-z0-9_-]{43}`)
	prefixPattern = regexp.MustCompile(`sk-svc-[A-Za-z0-9_-]{5}([…"])`)
)

// TestCommands runs one command after another. KEY and PREFIX stand for a fresh
// API key and how it begins.
func TestCommands(t *testing.T) {
	url := newServer(t)
	const (
		organizations = "ID      NAME    STATUS  CREDITS  REQUESTS/MIN  TOKENS/MIN  CONCURRENT  ZERO RETENTION  RETENTION  UNKNOWN FIELDS  CREATED\n"
		suspended     = "ID      NAME    STATUS     CREDITS  REQUESTS/MIN  TOKENS/MIN  CONCURRENT  ZERO RETENTION  RETENTION  UNKNOWN FIELDS  CREATED\n"
		keys          = "ID      ORGANIZATION  NAME  KEY            MODELS         REQUESTS/MIN  TOKENS/MIN  BUDGET            UNKNOWN FIELDS  CREATED              LAST USED\n" +
			"key_10  org_01        ci    PREFIX…  svc-preview,m  none          9           $0 of $2.5 a day  refuse          2023-11-14 22:13:20  never\n"
		changed = "ID      ORGANIZATION  NAME   KEY            MODELS         REQUESTS/MIN  TOKENS/MIN  BUDGET              UNKNOWN FIELDS  CREATED              LAST USED\n" +
			"key_10  org_01        tests  PREFIX…  svc-preview,m  5             9           $0 of $2.5 a month  ignore          2023-11-14 22:13:20  never\n"
		created = "2023-11-14 22:13:20\n"
	)
	for _, c := range []struct{ line, want, note string }{
		{"org create Team~A -credits 12.5 -requests-per-minute 60", organizations +
			"org_01  Team A  active  $12.5    60            none        none        no              for ever   ignore          " + created, ""},
		{"org create -json Team\x1bB --zero-data-retention", `{"id":"org_03","object":"organization","name":"Team\u001bB","status":"active",` +
			`"zero_data_retention":true,"credits":"0","requests_per_minute":0,"tokens_per_minute":0,"created_at":1700000000}` + "\n", ""},
		{"org list", organizations +
			"org_01  Team A  active  $12.5    60            none        none        no              for ever   ignore          " + created +
			"org_03  Team\uFFFDB  active  $0       none          none        none        yes             for ever   ignore          " + created, ""},
		{"org list -limit 1", organizations +
			"org_01  Team A  active  $12.5    60            none        none        no              for ever   ignore          " + created, "There are more: -after org_01\n"},
		{"org list -limit 1 -after org_01", organizations +
			"org_03  Team\uFFFDB  active  $0       none          none        none        yes             for ever   ignore          " + created, ""},
		{"org update org_01 -requests-per-minute 0 -tokens-per-minute 9 -name Team~C", organizations +
			"org_01  Team C  active  $12.5    none          9           none        no              for ever   ignore          " + created, ""},
		{"org suspend org_01", suspended +
			"org_01  Team C  suspended  $12.5    none          9           none        no              for ever   ignore          " + created, ""},
		{"org activate org_01", organizations +
			"org_01  Team C  active  $12.5    none          9           none        no              for ever   ignore          " + created, ""},
		{"credits add org_01 0.5", organizations +
			"org_01  Team C  active  $13      none          9           none        no              for ever   ignore          " + created, ""},
		{"credits take org_01 3", organizations +
			"org_01  Team C  active  $10      none          9           none        no              for ever   ignore          " + created, ""},
		{"org show org_01", organizations +
			"org_01  Team C  active  $10      none          9           none        no              for ever   ignore          " + created, ""},
		{"key create -org org_01 -name ci -models svc-preview,m -tokens-per-minute 9 -budget 2.5 -budget-period day -unknown-fields refuse", keys + "\nThe API key, shown only this once: KEY\n", ""},
		{"key list", keys, ""},
		{"key list -org org_03", "ID  ORGANIZATION  NAME  KEY  MODELS  REQUESTS/MIN  TOKENS/MIN  BUDGET  UNKNOWN FIELDS  CREATED  LAST USED\n", ""},
		{"key update key_10 -name tests -requests-per-minute 5 -budget-period month -unknown-fields ignore", changed, ""},
		{"key update key_10 -json -tokens-per-minute 0 -budget 0", `{"id":"key_10","object":"api_key","organization_id":"org_01","name":"tests",` +
			`"models":["svc-preview","m"],"prefix":"PREFIX","created_at":1700000000,"last_used_at":null,"requests_per_minute":5}` + "\n", ""},
		{"key revoke key_10", "key_10 is revoked.\n", ""},
		{"usage org_01", "TIME  ENDPOINT  MODEL  INPUT  CACHED  OUTPUT  COST  KEY  ID\n", ""},
		{"audit -limit 2", "TIME                 ACTION          SUBJECT  CHANGE                                ID\n" +
			"2023-11-14 22:13:20  api_key.revoke  key_10                                         audit_14\n" +
			`2023-11-14 22:13:20  api_key.update  key_10   {"tokens_per_minute":0,"budget":"0"}  audit_13` + "\n",
			"There are more: -after audit_13\n"},
		{"org update org_01 -json -concurrent-requests 7", `{"id":"org_01","object":"organization","name":"Team C","status":"active",` +
			`"zero_data_retention":false,"credits":"10","requests_per_minute":0,"tokens_per_minute":9,"concurrent_requests":7,"created_at":1700000000}` + "\n", ""},
		{"org show org_01", organizations +
			"org_01  Team C  active  $10      none          9           7           no              for ever   ignore          " + created, ""},
		{"org update org_01 -json -concurrent-requests 0", `{"id":"org_01","object":"organization","name":"Team C","status":"active",` +
			`"zero_data_retention":false,"credits":"10","requests_per_minute":0,"tokens_per_minute":9,"created_at":1700000000}` + "\n", ""},
		{"credits take org_01 11", organizations +
			"org_01  Team C  active  $-1      none          9           none        no              for ever   ignore          " + created, "The balance is below zero: requests of org_01 are refused until credits are added.\n"},
		{"credits add org_01 11 -json", `{"id":"org_01","object":"organization","name":"Team C","status":"active",` +
			`"zero_data_retention":false,"credits":"10","requests_per_minute":0,"tokens_per_minute":9,"created_at":1700000000}` + "\n", ""},
	} {
		stdout, stderr, err := svcd(t, url, c.line)
		stdout = keyPattern.ReplaceAllString(stdout, "KEY")
		stdout = prefixPattern.ReplaceAllString(stdout, "PREFIX$1")
		if err != nil || stdout != c.want || stderr != c.note {
			t.Errorf("svcd %s\ngot  %v\n%s%s\nwant\n%s%s", c.line, err, stdout, stderr, c.want, c.note)
		}
	}
}

// TestRetentionIsShown sets what no flag does.
func TestRetentionIsShown(t *testing.T) {
	url := newServer(t)
	n := accounts.NewOrganization{Name: "Team", Retention: accounts.Retention{Responses: 30, Files: 7}}
	if _, err := client.New(url, testAdminKey).CreateOrganization(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	const want = "ID      NAME  STATUS  CREDITS  REQUESTS/MIN  TOKENS/MIN  CONCURRENT  ZERO RETENTION  RETENTION                UNKNOWN FIELDS  CREATED\n" +
		"org_01  Team  active  $0       none          none        none        no              responses 30d, files 7d  ignore          2023-11-14 22:13:20\n"
	if stdout, _, err := svcd(t, url, "org list"); err != nil || stdout != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, stdout, want)
	}
}

func TestCommandErrors(t *testing.T) {
	url := newServer(t)
	for _, c := range []struct{ line, want string }{
		{"nothing", `there is no command "nothing"; svcd help lists them`},
		{"org create", "it is called as: svcd org create NAME"},
		{"org show a b", "it is called as: svcd org show ID"},
		{"org show org_none", `No organization found with id "org_none". (organization_not_found)`},
		{"org show a/b", `No organization found with id "a/b". (organization_not_found)`},
		{"credits add org_none many", `amount must be a decimal number of US dollars with at most 6 digits after the point, such as "12.50". (validation_error)`},
		{"key create -org org_none -budget some", `budget must be a decimal number of US dollars with at most 6 digits after the point, such as "12.50". (validation_error)`},
		{"key update key_none -budget 1", `No API key found with id "key_none". (api_key_not_found)`},
		{"key create", "-org is required: a key without an organization may do nothing"},
		{"org list -admin-key wrong", "The admin key is missing or invalid. (invalid_api_key)"},
		{"org delete org_none", "org_none was not deleted: it was not confirmed; -yes deletes without asking"},
		{"org delete org_none -yes", `No organization found with id "org_none". (organization_not_found)`},
		{"files upload -key k missing.pdf", "missing.pdf: no such file or directory"},
		{"files upload -key k missing", "missing: no such file or directory"},
		{"org list -limit many", `invalid value "many" for flag -limit: parse error; svcd org list -help lists the flags`},
		{"-addr x extra", "a command comes before the flags: svcd extra"},
	} {
		if _, _, err := svcd(t, url, c.line); err == nil || err.Error() != c.want {
			t.Errorf("svcd %s: got the error %v, want %s", c.line, err, c.want)
		}
	}
	if _, stderr, err := svcd(t, url, "credits"); err == nil || strings.Count(stderr, "\n") != 2 {
		t.Errorf("svcd credits: got %v and\n%s", err, stderr)
	}
}
