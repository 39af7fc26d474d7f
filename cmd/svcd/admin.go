package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"
)

const (
	organizationsPath = "/admin/v1/organizations"
	keysPath          = "/admin/v1/api_keys"
)

func organizationCommands() []command {
	return []command{
		{"org list", "", "list organizations", listing(organizationsPath, false, organizationHeading, organization.row)},
		{"org show", "ID", "show an organization", plain(func(ctx context.Context, s *session, args []string) error {
			return s.organization(ctx, "GET", organizationPath(args[0]), nil)
		})},
		{"org create", "NAME", "create an organization", createOrganization},
		{"org update", "ID", "change an organization's name, limits or zero data retention", updateOrganization},
		{"org suspend", "ID", "refuse all requests of an organization", setStatus("suspended")},
		{"org activate", "ID", "end the suspension of an organization", setStatus("active")},
		{"org delete", "ID", "delete an organization with its keys and all that is stored for it", deleteOrganization},
	}
}

func keyCommands() []command {
	return []command{
		{"key list", "", "list API keys", listKeys},
		{"key create", "", "create an API key and show it, once", createKey},
		{"key update", "ID", "change an API key's name, limits or budget", updateKey},
		{"key revoke", "ID", "delete an API key", plain(func(ctx context.Context, s *session, args []string) error {
			return s.remove(ctx, keysPath+"/"+url.PathEscape(args[0]), args[0]+" is revoked.")
		})},
	}
}

func creditCommands() []command {
	return []command{
		{"credits add", "ORG DOLLARS", "add credits to an organization's balance", addCredits("")},
		{"credits take", "ORG DOLLARS", "take credits from an organization's balance", addCredits("-")},
		{"usage", "ORG", "list what an organization was charged for, newest first", listUsage},
		{"audit", "", "list administrative changes, newest first", listing("/admin/v1/audit_log", true, auditHeading, auditEntry.row)},
	}
}

// remove deletes an object and says so.
func (s *session) remove(ctx context.Context, path, done string) error {
	data, err := s.call(ctx, "DELETE", path, nil)
	if err != nil || s.json {
		return s.raw(data, err)
	}
	_, err = fmt.Fprintln(s.stdout, done)
	return err
}

// deleteOrganization asks before it deletes, unless -yes was given.
func deleteOrganization(flags *flag.FlagSet) action {
	yes := flags.Bool("yes", false, "do not ask")
	return func(ctx context.Context, s *session, args []string) error {
		if !*yes {
			if err := s.confirm(args[0]); err != nil {
				return err
			}
		}
		return s.remove(ctx, organizationPath(args[0]), args[0]+" and all that belonged to it is deleted.")
	}
}

// confirm asks for the ID of what is going to be deleted.
func (s *session) confirm(id string) error {
	fmt.Fprintf(s.stderr, "This deletes %s with its keys, files, conversations and responses for ever. Type %s to go on: ", id, id)
	answer, err := bufio.NewReader(s.stdin).ReadString('\n')
	if strings.TrimSpace(answer) == id {
		return nil
	}
	if err != nil {
		fmt.Fprintln(s.stderr)
	}
	return fmt.Errorf("%s was not deleted: it was not confirmed; -yes deletes without asking", id)
}

// plain is the preparation of a command without flags of its own.
func plain(run action) func(*flag.FlagSet) action {
	return func(*flag.FlagSet) action { return run }
}

func organizationPath(id string) string { return organizationsPath + "/" + url.PathEscape(id) }

// organization is an organization as the server shows it.
type organization struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Status            string `json:"status"`
	ZeroDataRetention bool   `json:"zero_data_retention"`
	Credits           string `json:"credits"`
	RequestsPerMinute int    `json:"requests_per_minute"`
	TokensPerMinute   int    `json:"tokens_per_minute"`
	CreatedAt         int64  `json:"created_at"`

	// What the server leaves out is no limit.
	ConcurrentRequests int       `json:"concurrent_requests"`
	Retention          retention `json:"retention"`
}

const organizationHeading = "ID\tNAME\tSTATUS\tCREDITS\tREQUESTS/MIN\tTOKENS/MIN\tCONCURRENT\tZERO RETENTION\tRETENTION\tCREATED"

func (o organization) row() string {
	return cells(o.ID, o.Name, o.Status, "$"+o.Credits, limit(o.RequestsPerMinute), limit(o.TokensPerMinute), limit(o.ConcurrentRequests),
		yes(o.ZeroDataRetention), o.Retention.String(), date(o.CreatedAt))
}

// retention is for how many days an organization keeps what, as the server shows
// it; 0 is for ever.
type retention struct {
	Completions   int `json:"completions_days"`
	Responses     int `json:"responses_days"`
	Conversations int `json:"conversations_days"`
	Files         int `json:"files_days"`
}

func (r retention) String() string {
	var limits []string
	for _, kind := range []struct {
		name string
		days int
	}{{"completions", r.Completions}, {"responses", r.Responses}, {"conversations", r.Conversations}, {"files", r.Files}} {
		if kind.days > 0 {
			limits = append(limits, fmt.Sprintf("%s %dd", kind.name, kind.days))
		}
	}
	if limits == nil {
		return "for ever"
	}
	return strings.Join(limits, ", ")
}

// apiKey is an API key as the server shows it.
type apiKey struct {
	ID             string   `json:"id"`
	OrganizationID *string  `json:"organization_id"`
	Name           string   `json:"name"`
	Models         []string `json:"models"`
	Prefix         string   `json:"prefix"`
	CreatedAt      int64    `json:"created_at"`
	LastUsedAt     *int64   `json:"last_used_at"`
	Key            string   `json:"key"`

	// What the server leaves out is no limit.
	RequestsPerMinute int    `json:"requests_per_minute"`
	TokensPerMinute   int    `json:"tokens_per_minute"`
	Budget            string `json:"budget"`
	BudgetPeriod      string `json:"budget_period"`
	BudgetSpent       string `json:"budget_spent"`
}

const keyHeading = "ID\tORGANIZATION\tNAME\tKEY\tMODELS\tREQUESTS/MIN\tTOKENS/MIN\tBUDGET\tCREATED\tLAST USED"

func (k apiKey) row() string {
	organization, models, budget, used := "none", "all", "none", "never"
	if k.OrganizationID != nil {
		organization = *k.OrganizationID
	}
	if k.Models != nil {
		models = strings.Join(k.Models, ",")
	}
	if k.Budget != "" {
		budget = fmt.Sprintf("$%s of $%s a %s", k.BudgetSpent, k.Budget, k.BudgetPeriod)
	}
	if k.LastUsedAt != nil {
		used = date(*k.LastUsedAt)
	}
	return cells(k.ID, organization, k.Name, k.Prefix+"…", models, limit(k.RequestsPerMinute), limit(k.TokensPerMinute), budget, date(k.CreatedAt), used)
}

// usage is a usage record as the server shows it.
type usage struct {
	ID           string  `json:"id"`
	KeyID        *string `json:"api_key_id"`
	Endpoint     string  `json:"endpoint"`
	Model        string  `json:"model"`
	InputTokens  int     `json:"input_tokens"`
	CachedTokens int     `json:"cached_tokens"`
	OutputTokens int     `json:"output_tokens"`
	Cost         string  `json:"cost"`
	CreatedAt    int64   `json:"created_at"`
}

const usageHeading = "TIME\tENDPOINT\tMODEL\tINPUT\tCACHED\tOUTPUT\tCOST\tKEY\tID"

func (u usage) row() string {
	key := "none"
	if u.KeyID != nil {
		key = *u.KeyID
	}
	return cells(date(u.CreatedAt), u.Endpoint, u.Model, strconv.Itoa(u.InputTokens), strconv.Itoa(u.CachedTokens),
		strconv.Itoa(u.OutputTokens), "$"+u.Cost, key, u.ID)
}

// auditEntry is an entry of the audit log as the server shows it.
type auditEntry struct {
	ID        string          `json:"id"`
	Action    string          `json:"action"`
	Subject   string          `json:"subject"`
	Change    json.RawMessage `json:"change"`
	CreatedAt int64           `json:"created_at"`
}

const auditHeading = "TIME\tACTION\tSUBJECT\tCHANGE\tID"

func (e auditEntry) row() string {
	change := string(e.Change)
	if change == "null" {
		change = ""
	}
	return cells(date(e.CreatedAt), e.Action, e.Subject, change, e.ID)
}

// cells joins the cells of a row. Names are other people's: what cannot be
// printed in them is shown as U+FFFD.
func cells(values ...string) string {
	printable := func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}
	for i, v := range values {
		values[i] = strings.Map(printable, v)
	}
	return strings.Join(values, "\t")
}

// date writes a time in Unix seconds for people.
func date(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04:05") }

func limit(n int) string {
	if n == 0 {
		return "none"
	}
	return strconv.Itoa(n)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// raw prints an answer as it is.
func (s *session) raw(data []byte, err error) error {
	if err == nil {
		_, err = fmt.Fprintf(s.stdout, "%s\n", data)
	}
	return err
}

// organization makes a request that is answered with an organization.
func (s *session) organization(ctx context.Context, method, path string, body any) error {
	_, err := show(ctx, s, method, path, body, organizationHeading, organization.row)
	return err
}

// show makes a request that is answered with an object, prints that and returns it.
func show[T any](ctx context.Context, s *session, method, path string, body any, heading string, row func(T) string) (shown T, err error) {
	data, err := s.call(ctx, method, path, body)
	if err != nil {
		return shown, err
	}
	if err := json.Unmarshal(data, &shown); err != nil {
		return shown, err
	}
	if s.json {
		return shown, s.raw(data, nil)
	}
	return shown, s.table(heading, []string{row(shown)})
}

// pageFlags are the flags of commands that list.
type pageFlags struct {
	limit int
	after string
}

func (p *pageFlags) define(flags *flag.FlagSet) {
	flags.IntVar(&p.limit, "limit", 20, "how `many` to list, 1 to 1000")
	flags.StringVar(&p.after, "after", "", "list what comes after the one with this `ID`")
}

// listing is the preparation of a command that lists what is at a path.
func listing[T any](path string, desc bool, heading string, row func(T) string) func(*flag.FlagSet) action {
	return func(flags *flag.FlagSet) action {
		var p pageFlags
		p.define(flags)
		return func(ctx context.Context, s *session, _ []string) error {
			return list(ctx, s, query{path, p, desc, nil}, heading, row)
		}
	}
}

// query says which page of which list to ask for.
type query struct {
	path  string
	page  pageFlags
	desc  bool
	other url.Values
}

func (q query) String() string {
	values := url.Values{"limit": {strconv.Itoa(q.page.limit)}}
	if q.page.after != "" {
		values.Set("after", q.page.after)
	}
	if q.desc {
		values.Set("order", "desc")
	}
	for name, value := range q.other {
		values[name] = value
	}
	return q.path + "?" + values.Encode()
}

// list prints a page of a list and, for people, how to see the next one.
func list[T any](ctx context.Context, s *session, q query, heading string, row func(T) string) error {
	data, err := s.call(ctx, "GET", q.String(), nil)
	if err != nil || s.json {
		return s.raw(data, err)
	}
	var page struct {
		Data    []T    `json:"data"`
		LastID  string `json:"last_id"`
		HasMore bool   `json:"has_more"`
	}
	if err := json.Unmarshal(data, &page); err != nil {
		return err
	}
	rows := make([]string, len(page.Data))
	for i, item := range page.Data {
		rows[i] = row(item)
	}
	if err := s.table(heading, rows); err != nil {
		return err
	}
	if page.HasMore {
		_, err = fmt.Fprintf(s.stderr, "There are more: -after %s\n", page.LastID)
	}
	return err
}

// limitFlags defines the limits that organizations and keys have.
func limitFlags(flags *flag.FlagSet) {
	flags.Int("requests-per-minute", 0, "how `many` requests a minute, 0 for no limit")
	flags.Int("tokens-per-minute", 0, "how `many` tokens a minute, 0 for no limit")
}

// organizationFlags defines the fields that an organization is created with or
// changed to.
func organizationFlags(flags *flag.FlagSet) {
	flags.Bool("zero-data-retention", false, "whether conversations may not be stored")
	flags.Int("concurrent-requests", 0, "how `many` requests each process works on at once, 0 for no limit of its own")
	limitFlags(flags)
}

// keyFlags defines the fields that a key is created with or changed to.
func keyFlags(flags *flag.FlagSet) {
	flags.String("name", "", "a `name` to tell keys apart")
	flags.String("budget", "0", "how many `dollars` it may spend in each period, 0 for no budget")
	flags.String("budget-period", "month", "the `period` of the budget, day or month")
	limitFlags(flags)
}

// fields returns the values of those flags that were given, by the names of the
// fields in a body.
func fields(flags *flag.FlagSet) map[string]any {
	body := map[string]any{}
	flags.Visit(func(f *flag.Flag) {
		switch f.Name {
		case "name", "credits", "zero-data-retention", "concurrent-requests", "requests-per-minute", "tokens-per-minute", "budget", "budget-period":
			body[strings.ReplaceAll(f.Name, "-", "_")] = f.Value.(flag.Getter).Get()
		}
	})
	return body
}

func createOrganization(flags *flag.FlagSet) action {
	organizationFlags(flags)
	flags.String("credits", "0", "first credits in `dollars`")
	return func(ctx context.Context, s *session, args []string) error {
		body := fields(flags)
		body["name"] = args[0]
		return s.organization(ctx, "POST", organizationsPath, body)
	}
}

func updateOrganization(flags *flag.FlagSet) action {
	organizationFlags(flags)
	flags.String("name", "", "new `name`")
	return func(ctx context.Context, s *session, args []string) error {
		return s.organization(ctx, "POST", organizationPath(args[0]), fields(flags))
	}
}

func setStatus(status string) func(*flag.FlagSet) action {
	return plain(func(ctx context.Context, s *session, args []string) error {
		return s.organization(ctx, "POST", organizationPath(args[0]), map[string]any{"status": status})
	})
}

func addCredits(sign string) func(*flag.FlagSet) action {
	return plain(func(ctx context.Context, s *session, args []string) error {
		o, err := show(ctx, s, "POST", organizationPath(args[0])+"/credits", map[string]any{"amount": sign + args[1]}, organizationHeading, organization.row)
		if err == nil && strings.HasPrefix(o.Credits, "-") {
			_, err = fmt.Fprintf(s.stderr, "The balance is below zero: requests of %s are refused until credits are added.\n", o.ID)
		}
		return err
	})
}

func listUsage(flags *flag.FlagSet) action {
	var p pageFlags
	p.define(flags)
	return func(ctx context.Context, s *session, args []string) error {
		return list(ctx, s, query{organizationPath(args[0]) + "/usage", p, true, nil}, usageHeading, usage.row)
	}
}

func listKeys(flags *flag.FlagSet) action {
	var p pageFlags
	p.define(flags)
	organization := flags.String("org", "", "list only the keys of the organization with this `ID`")
	return func(ctx context.Context, s *session, _ []string) error {
		return list(ctx, s, query{keysPath, p, false, url.Values{"organization_id": {*organization}}}, keyHeading, apiKey.row)
	}
}

func createKey(flags *flag.FlagSet) action {
	keyFlags(flags)
	organization := flags.String("org", "", "`ID` of the organization that the key is for")
	models := flags.String("models", "", "`IDs` of the models that it may use, separated by commas; all if not given")
	return func(ctx context.Context, s *session, _ []string) error {
		if *organization == "" {
			return fmt.Errorf("-org is required: a key without an organization may do nothing")
		}
		body := fields(flags)
		body["organization_id"] = *organization
		if *models != "" {
			body["models"] = strings.Split(*models, ",")
		}
		k, err := show(ctx, s, "POST", keysPath, body, keyHeading, apiKey.row)
		if err != nil || s.json {
			return err
		}
		_, err = fmt.Fprintf(s.stdout, "\nThe API key, shown only this once: %s\n", k.Key)
		return err
	}
}

func updateKey(flags *flag.FlagSet) action {
	keyFlags(flags)
	return func(ctx context.Context, s *session, args []string) error {
		_, err := show(ctx, s, "POST", keysPath+"/"+url.PathEscape(args[0]), fields(flags), keyHeading, apiKey.row)
		return err
	}
}
