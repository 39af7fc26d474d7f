package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/internal/convert"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
	"github.com/seed-506d8e5d/svc/internal/wire"
)

// answerTimeout is how long the server has to answer a command.
const answerTimeout = time.Minute

func organizationCommands() []command {
	return []command{
		{words: "org list", help: "list organizations", prepare: func(flags *flag.FlagSet) action {
			return organizations.listing(flags, false, func(ctx context.Context, s *session, _ string, p client.Page) (client.List[accounts.Organization], error) {
				return s.server.Organizations(ctx, p)
			})
		}},
		{words: "org show", args: "ID", help: "show an organization", prepare: plain(func(ctx context.Context, s *session, args []string) error {
			_, err := organizations.show(ctx, s, func(ctx context.Context) (accounts.Organization, error) { return s.server.Organization(ctx, args[0]) })
			return err
		})},
		{words: "org create", args: "NAME", help: "create an organization", prepare: createOrganization},
		{words: "org update", args: "ID", help: "change an organization's name, limits or zero data retention", prepare: updateOrganization},
		{words: "org suspend", args: "ID", help: "refuse all requests of an organization", prepare: setStatus(accounts.Suspended)},
		{words: "org activate", args: "ID", help: "end the suspension of an organization", prepare: setStatus(accounts.Active)},
		{words: "org delete", args: "ID", help: "delete an organization with its keys and all that is stored for it", prepare: deleteOrganization},
	}
}

func keyCommands() []command {
	return []command{
		{words: "key list", help: "list API keys", prepare: listKeys},
		{words: "key create", help: "create an API key and show it, once", prepare: createKey},
		{words: "key update", args: "ID", help: "change an API key's name, limits or budget", prepare: updateKey},
		{words: "key revoke", args: "ID", help: "delete an API key", prepare: plain(func(ctx context.Context, s *session, args []string) error {
			return s.remove(ctx, s.server.RevokeKey, "api_key.deleted", args[0], "%s is revoked.\n")
		})},
	}
}

func creditCommands() []command {
	return []command{
		{words: "credits add", args: "ORG DOLLARS", help: "add credits to an organization's balance", prepare: addCredits("")},
		{words: "credits take", args: "ORG DOLLARS", help: "take credits from an organization's balance", prepare: addCredits("-")},
		{words: "usage", args: "ORG", help: "list what an organization was charged for, newest first", prepare: func(flags *flag.FlagSet) action {
			return charges.listing(flags, true, func(ctx context.Context, s *session, org string, p client.Page) (client.List[accounts.Entry], error) {
				return s.server.Usage(ctx, org, p)
			})
		}},
		{words: "audit", help: "list administrative changes, newest first", prepare: func(flags *flag.FlagSet) action {
			return auditLog.listing(flags, true, func(ctx context.Context, s *session, _ string, p client.Page) (client.List[accounts.AuditEntry], error) {
				return s.server.AuditLog(ctx, p)
			})
		}},
	}
}

// remove deletes an object and says so, in words with its ID.
func (s *session) remove(ctx context.Context, do func(context.Context, string) error, object, id, done string) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	if err := do(ctx, id); err != nil {
		return sentence(err)
	}
	if s.json {
		return s.printJSON(wire.Deleted{ID: id, Object: object, Deleted: true})
	}
	_, err := fmt.Fprintf(s.Stdout, done, id)
	return err
}

// printJSON prints an object as the server answers it.
func (s *session) printJSON(object any) error {
	data, err := jsonout.Marshal(object)
	if err == nil {
		_, err = fmt.Fprintf(s.Stdout, "%s\n", data)
	}
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
		return s.remove(ctx, s.server.DeleteOrganization, "organization.deleted", args[0], "%s and all that belonged to it is deleted.\n")
	}
}

// confirm asks for the ID of what is going to be deleted.
func (s *session) confirm(id string) error {
	fmt.Fprintf(s.Stderr, "This deletes %s with its keys, files, conversations and responses for ever. Type %s to go on: ", id, id)
	answer, err := bufio.NewReader(s.Stdin).ReadString('\n')
	if strings.TrimSpace(answer) == id {
		return nil
	}
	if err != nil {
		fmt.Fprintln(s.Stderr)
	}
	return fmt.Errorf("%s was not deleted: it was not confirmed; -yes deletes without asking", id)
}

// plain is the preparation of a command without flags of its own.
func plain(run action) func(*flag.FlagSet) action {
	return func(*flag.FlagSet) action { return run }
}

// view is how objects of a type T are shown: as rows of a table, or with -json as
// the server answers them.
type view[T, W any] struct {
	heading string
	row     func(*T) string
	wire    func(*T) W
	id      func(*W) string
}

var (
	organizations = view[accounts.Organization, wire.Organization]{
		"ID\tNAME\tSTATUS\tCREDITS\tREQUESTS/MIN\tTOKENS/MIN\tCONCURRENT\tZERO RETENTION\tRETENTION\tUNKNOWN FIELDS\tCREATED",
		organizationRow, convert.ToOrganization, func(w *wire.Organization) string { return w.ID },
	}
	apiKeys = view[accounts.APIKey, wire.APIKey]{
		"ID\tORGANIZATION\tNAME\tKEY\tMODELS\tREQUESTS/MIN\tTOKENS/MIN\tBUDGET\tUNKNOWN FIELDS\tCREATED\tLAST USED",
		keyRow, convert.ToKey, func(w *wire.APIKey) string { return w.ID },
	}
	charges = view[accounts.Entry, wire.UsageRecord]{
		"TIME\tENDPOINT\tMODEL\tINPUT\tCACHED\tOUTPUT\tCOST\tKEY\tID",
		chargeRow, convert.ToUsageRecord, func(w *wire.UsageRecord) string { return w.ID },
	}
	auditLog = view[accounts.AuditEntry, wire.AuditEntry]{
		"TIME\tACTION\tSUBJECT\tCHANGE\tID",
		auditRow, convert.ToAuditEntry, func(w *wire.AuditEntry) string { return w.ID },
	}
)

// show makes a request that is answered with an object, prints that and returns it.
func (v view[T, W]) show(ctx context.Context, s *session, do func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	object, err := do(ctx)
	switch {
	case err != nil:
		err = sentence(err)
	case s.json:
		err = s.printJSON(v.wire(&object))
	default:
		err = s.table(v.heading, []string{v.row(&object)})
	}
	return object, err
}

// listing is a command that prints a page of a list, for people with how to see the
// next one. read gets the first argument, empty where the command has none.
func (v view[T, W]) listing(flags *flag.FlagSet, desc bool, read func(ctx context.Context, s *session, of string, p client.Page) (client.List[T], error)) action {
	limit := flags.Int("limit", 20, "how `many` to list, 1 to 1000")
	after := flags.String("after", "", "list what comes after the one with this `ID`")
	return func(ctx context.Context, s *session, args []string) error {
		p := client.Page{Limit: *limit, After: *after, Desc: desc}
		if p.Limit == 0 {
			p.Limit = -1 // as invalid, where 0 would be the default
		}
		ctx, cancel := context.WithTimeout(ctx, answerTimeout)
		defer cancel()
		page, err := read(ctx, s, strings.Join(args, ""), p)
		if err != nil {
			return sentence(err)
		}
		whole := convert.ToList(page, v.wire, v.id)
		if s.json {
			return s.printJSON(whole)
		}
		rows := make([]string, len(page.Items))
		for i := range page.Items {
			rows[i] = v.row(&page.Items[i])
		}
		if err := s.table(v.heading, rows); err != nil {
			return err
		}
		if page.HasMore && whole.LastID != nil {
			_, err = fmt.Fprintf(s.Stderr, "There are more: -after %s\n", *whole.LastID)
		}
		return err
	}
}

func organizationRow(o *accounts.Organization) string {
	return cells(o.ID, o.Name, string(o.Status), "$"+o.Credits.String(), limit(o.RequestsPerMinute), limit(o.TokensPerMinute), limit(o.ConcurrentRequests),
		yes(o.ZeroDataRetention), retention(o.Retention), unknownFields(o.UnknownFields), date(o.CreatedAt))
}

// retention says for how long an organization keeps what.
func retention(r accounts.Retention) string {
	var limits []string
	for _, kind := range []struct {
		name string
		days int
	}{{"completions", r.Completions}, {"responses", r.Responses}, {"conversations", r.Conversations}, {"files", r.Files}, {"decisions", r.Decisions}} {
		if kind.days > 0 {
			limits = append(limits, fmt.Sprintf("%s %dd", kind.name, kind.days))
		}
	}
	if limits == nil {
		return "for ever"
	}
	return strings.Join(limits, ", ")
}

func keyRow(k *accounts.APIKey) string {
	models, budget, used := "all", "none", "never"
	if k.Models != nil {
		models = strings.Join(k.Models, ",")
	}
	if k.Budget != 0 {
		budget = fmt.Sprintf("$%s of $%s a %s", k.Spent, k.Budget, k.BudgetPeriod)
	}
	if k.LastUsedAt != 0 {
		used = date(k.LastUsedAt)
	}
	return cells(k.ID, cmp.Or(k.OrganizationID, "none"), k.Name, k.Prefix+"…", models, limit(k.RequestsPerMinute), limit(k.TokensPerMinute), budget, unknownFields(k.UnknownFields), date(k.CreatedAt), used)
}

func unknownFields(u accounts.UnknownFields) string { return string(cmp.Or(u, accounts.IgnoreUnknown)) }

func chargeRow(e *accounts.Entry) string {
	u := e.Use
	return cells(date(e.CreatedAt), u.Endpoint, u.Model, strconv.Itoa(u.InputTokens), strconv.Itoa(u.CachedTokens),
		strconv.Itoa(u.OutputTokens), "$"+e.Cost().String(), cmp.Or(e.Key, "none"), e.ID)
}

func auditRow(e *accounts.AuditEntry) string {
	return cells(date(e.CreatedAt), e.Action, e.Subject, string(e.Change), e.ID)
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

// organizationFlags are the fields that an organization is created with or changed
// to, besides its name.
type organizationFlags struct {
	zeroDataRetention            *bool
	concurrent, requests, tokens *int
	unknownFields                *string
	storeDecisions               *bool
}

func newOrganizationFlags(flags *flag.FlagSet) (f organizationFlags) {
	f.zeroDataRetention = flags.Bool("zero-data-retention", false, "whether conversations may not be stored")
	f.concurrent = flags.Int("concurrent-requests", 0, "how `many` requests each process works on at once, 0 for no limit of its own")
	f.requests, f.tokens = limitFlags(flags)
	f.unknownFields = unknownFlag(flags)
	f.storeDecisions = storeDecisionsFlag(flags)
	return f
}

func storeDecisionsFlag(flags *flag.FlagSet) *bool {
	return flags.Bool("store-decisions", false, "whether decisions are stored where a request does not say otherwise")
}

func unknownFlag(flags *flag.FlagSet) *string {
	return flags.String("unknown-fields", "ignore", "what becomes of fields of requests that svcd does not know: `ignore or refuse`")
}

// limitFlags defines the limits that organizations and keys have.
func limitFlags(flags *flag.FlagSet) (requests, tokens *int) {
	requests = flags.Int("requests-per-minute", 0, "how `many` requests a minute, 0 for no limit")
	tokens = flags.Int("tokens-per-minute", 0, "how `many` tokens a minute, 0 for no limit")
	return requests, tokens
}

// given returns the value of a flag, nil where the flag was not given.
func given[T any](flags *flag.FlagSet, name string, value *T) *T {
	var found *T
	flags.Visit(func(f *flag.Flag) {
		if f.Name == name {
			found = value
		}
	})
	return found
}

// dollars reads an amount as the server does.
func dollars(name, text string) (accounts.Micros, error) {
	amount, err := convert.FromDollars(name, (*wire.Dollars)(&text))
	return amount, sentence(err)
}

func createOrganization(flags *flag.FlagSet) action {
	f := newOrganizationFlags(flags)
	credits := flags.String("credits", "0", "first credits in `dollars`")
	return func(ctx context.Context, s *session, args []string) error {
		amount, err := dollars("credits", *credits)
		if err != nil {
			return err
		}
		n := accounts.NewOrganization{Name: args[0], Credits: amount, ZeroDataRetention: *f.zeroDataRetention,
			RequestsPerMinute: *f.requests, TokensPerMinute: *f.tokens, ConcurrentRequests: *f.concurrent, UnknownFields: accounts.UnknownFields(*f.unknownFields), StoreDecisions: *f.storeDecisions}
		_, err = organizations.show(ctx, s, func(ctx context.Context) (accounts.Organization, error) { return s.server.CreateOrganization(ctx, n) })
		return err
	}
}

func updateOrganization(flags *flag.FlagSet) action {
	f := newOrganizationFlags(flags)
	name := flags.String("name", "", "new `name`")
	return func(ctx context.Context, s *session, args []string) error {
		return s.updateOrganization(ctx, args[0], accounts.OrganizationUpdate{
			Name: given(flags, "name", name), ZeroDataRetention: given(flags, "zero-data-retention", f.zeroDataRetention),
			RequestsPerMinute: given(flags, "requests-per-minute", f.requests), TokensPerMinute: given(flags, "tokens-per-minute", f.tokens),
			ConcurrentRequests: given(flags, "concurrent-requests", f.concurrent),
			UnknownFields:      (*accounts.UnknownFields)(given(flags, "unknown-fields", f.unknownFields)),
			StoreDecisions:     given(flags, "store-decisions", f.storeDecisions),
		})
	}
}

func (s *session) updateOrganization(ctx context.Context, id string, u accounts.OrganizationUpdate) error {
	_, err := organizations.show(ctx, s, func(ctx context.Context) (accounts.Organization, error) {
		return s.server.UpdateOrganization(ctx, id, u)
	})
	return err
}

func setStatus(status accounts.Status) func(*flag.FlagSet) action {
	return plain(func(ctx context.Context, s *session, args []string) error {
		return s.updateOrganization(ctx, args[0], accounts.OrganizationUpdate{Status: &status})
	})
}

func addCredits(sign string) func(*flag.FlagSet) action {
	return plain(func(ctx context.Context, s *session, args []string) error {
		amount, err := dollars("amount", sign+args[1])
		if err != nil {
			return err
		}
		o, err := organizations.show(ctx, s, func(ctx context.Context) (accounts.Organization, error) {
			return s.server.AddCredits(ctx, args[0], amount)
		})
		if err == nil && o.Credits < 0 {
			_, err = fmt.Fprintf(s.Stderr, "The balance is below zero: requests of %s are refused until credits are added.\n", o.ID)
		}
		return err
	})
}

func listKeys(flags *flag.FlagSet) action {
	organization := flags.String("org", "", "list only the keys of the organization with this `ID`")
	return apiKeys.listing(flags, false, func(ctx context.Context, s *session, _ string, p client.Page) (client.List[accounts.APIKey], error) {
		return s.server.Keys(ctx, *organization, p)
	})
}

// keyFlags are the fields that a key is created with or changed to.
type keyFlags struct {
	name, budget, period *string
	requests, tokens     *int
	unknownFields        *string
	storeDecisions       *bool
}

func newKeyFlags(flags *flag.FlagSet) (f keyFlags) {
	f.name = flags.String("name", "", "a `name` to tell keys apart")
	f.budget = flags.String("budget", "0", "how many `dollars` it may spend in each period, 0 for no budget")
	f.period = flags.String("budget-period", "month", "the `period` of the budget, day or month")
	f.requests, f.tokens = limitFlags(flags)
	f.unknownFields = unknownFlag(flags)
	f.storeDecisions = storeDecisionsFlag(flags)
	return f
}

func createKey(flags *flag.FlagSet) action {
	f := newKeyFlags(flags)
	organization := flags.String("org", "", "`ID` of the organization that the key is for")
	models := flags.String("models", "", "`IDs` of the models that it may use, separated by commas; all if not given")
	return func(ctx context.Context, s *session, _ []string) error {
		if *organization == "" {
			return errors.New("-org is required: a key without an organization may do nothing")
		}
		n := accounts.NewKey{OrganizationID: *organization, Name: *f.name, UnknownFields: accounts.UnknownFields(*f.unknownFields), StoreDecisions: *f.storeDecisions, KeyLimits: accounts.KeyLimits{RequestsPerMinute: *f.requests, TokensPerMinute: *f.tokens}}
		if period := given(flags, "budget-period", f.period); period != nil {
			n.BudgetPeriod = accounts.Period(*period)
		}
		var err error
		if n.Budget, err = dollars("budget", *f.budget); err != nil {
			return err
		}
		if *models != "" {
			n.Models = strings.Split(*models, ",")
		}
		k, err := apiKeys.show(ctx, s, func(ctx context.Context) (accounts.APIKey, error) { return s.server.CreateKey(ctx, n) })
		if err != nil || s.json {
			return err
		}
		_, err = fmt.Fprintf(s.Stdout, "\nThe API key, shown only this once: %s\n", k.Secret)
		return err
	}
}

func updateKey(flags *flag.FlagSet) action {
	f := newKeyFlags(flags)
	return func(ctx context.Context, s *session, args []string) error {
		u := accounts.KeyUpdate{Name: given(flags, "name", f.name), RequestsPerMinute: given(flags, "requests-per-minute", f.requests),
			TokensPerMinute: given(flags, "tokens-per-minute", f.tokens), BudgetPeriod: (*accounts.Period)(given(flags, "budget-period", f.period)),
			UnknownFields: (*accounts.UnknownFields)(given(flags, "unknown-fields", f.unknownFields)), StoreDecisions: given(flags, "store-decisions", f.storeDecisions)}
		if text := given(flags, "budget", f.budget); text != nil {
			budget, err := dollars("budget", *text)
			if err != nil {
				return err
			}
			u.Budget = &budget
		}
		_, err := apiKeys.show(ctx, s, func(ctx context.Context) (accounts.APIKey, error) { return s.server.UpdateKey(ctx, args[0], u) })
		return err
	}
}
