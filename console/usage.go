package console

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
	"github.com/seed-506d8e5d/svc/fault"
)

// maxShares is how many models, keys or organizations a page shows by name, the
// largest ones. The others are summed up.
const maxShares = 30

// usageView is what an organization, or all of them, used in a month.
type usageView struct {
	Token        string
	Organization *accounts.Organization // nil: all of them
	Base         string                 // the path of the page
	Measure      string                 // cost, tokens or requests
	Month        string
	MonthName    string
	Earlier      string // the month before
	Later        string // the month after; empty for the present one
	All          accounts.Sums
	Days         chart
	Models, Keys []share
	Tenants      []share // by organization
	Entries      []accounts.Entry
	Names        map[string]string // of keys by ID
	Next         string
}

// share is what one model, key or organization has of the whole.
type share struct {
	Name   string // what people call it
	ID     string // of what a link leads to; empty where there is none
	Sums   accounts.Sums
	Part   float64 // of the measure, 0 to 1
	Left   string  // what an organization has left
	Others int     // how many the line stands for, where it is that of the others
}

func (c *Console) usagePage(v *request) error { return c.showUsage(v, v.caller.Organization, "/usage") }

func (c *Console) usageCSV(v *request) error { return c.sendLedger(v, v.caller.Organization) }

func (c *Console) totalsCSV(v *request) error { return c.sendTotals(v, v.caller.Organization) }

func (c *Console) organizationUsagePage(v *request) error {
	id := v.r.PathValue("id")
	return c.showUsage(v, id, "/admin/organizations/"+url.PathEscape(id)+"/usage")
}

func (c *Console) organizationUsageCSV(v *request) error { return c.sendLedger(v, v.r.PathValue("id")) }

func (c *Console) organizationTotalsCSV(v *request) error {
	return c.sendTotals(v, v.r.PathValue("id"))
}

func (c *Console) allUsageCSV(v *request) error { return c.sendTotals(v, "") }

// allUsagePage shows what all organizations used.
func (c *Console) allUsagePage(v *request) error {
	view, totals, err := c.usageOf(v, "", "/admin/usage")
	if err != nil {
		return err
	}
	view.Tenants = shares(totals.Organizations, totals.All, view.Measure)
	for i := range view.Tenants {
		one := &view.Tenants[i]
		if one.Others > 0 {
			continue
		}
		o, err := c.service.Organization(v.ctx(), one.Name)
		if fault.Is(err, fault.NotFound) {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return err
		}
		one.ID, one.Name, one.Left = o.ID, o.Name, money(o.Credits)
	}
	v.place = "allusage"
	return v.render("usage", "Usage of all", view)
}

func (c *Console) showUsage(v *request, organization, base string) error {
	view, totals, err := c.usageOf(v, organization, base)
	if err != nil {
		return err
	}
	o, err := c.service.Organization(v.ctx(), organization)
	if err != nil {
		return err
	}
	view.Organization = &o
	page, err := c.service.Ledger(v.ctx(), organization, newest(v.r))
	if err != nil {
		return err
	}
	view.Entries = page.Items
	if n := len(page.Items); n > 0 && page.HasMore {
		view.Next = nextPage(true, page.Items[n-1].ID, "") + "&" + url.Values{"month": {view.Month}, "measure": {view.Measure}}.Encode() + "#ledger"
	}
	view.Keys = shares(totals.Keys, totals.All, view.Measure)
	view.Names = map[string]string{}
	for i := range view.Keys {
		if one := &view.Keys[i]; one.Others == 0 && one.Name != "" {
			one.ID = one.Name
			if one.Name, err = c.keyName(v, view.Names, one.ID); err != nil {
				return err
			}
		}
	}
	for _, e := range view.Entries {
		if _, err := c.keyName(v, view.Names, e.Key); err != nil {
			return err
		}
	}
	title := "Usage"
	if base != "/usage" {
		v.place, title = "organization", "Usage of "+clip(60, o.Name)
	}
	return v.render("usage", title, view)
}

// keyName is what people call a key, among names that are known already.
func (c *Console) keyName(v *request, names map[string]string, id string) (string, error) {
	if _, ok := names[id]; ok || id == "" {
		return names[id], nil
	}
	name := id
	switch key, err := c.service.Key(v.ctx(), id); {
	case err == nil && key.Name != "":
		name = key.Name
	case err != nil && !fault.Is(err, fault.NotFound): // a revoked one has its ID alone
		return "", err
	}
	names[id] = name
	return name, nil
}

// usageOf reads the totals of the month that is asked for.
func (c *Console) usageOf(v *request, organization, base string) (usageView, accounts.Totals, error) {
	now := c.opts.Now().UTC()
	month, err := monthOf(v.r.FormValue("month"), now)
	if err != nil {
		return usageView{}, accounts.Totals{}, err
	}
	totals, err := c.service.UsageTotals(v.ctx(), organization, month.Format(monthFormat))
	if err != nil {
		return usageView{}, totals, err
	}
	view := usageView{
		Token: v.session.Token, Base: base, Measure: measureOf(v.r.FormValue("measure")), Month: month.Format(monthFormat), MonthName: month.Format("January 2006"),
		Earlier: month.AddDate(0, -1, 0).Format(monthFormat), All: totals.All.Sum(),
	}
	if later := month.AddDate(0, 1, 0); !later.After(now) {
		view.Later = later.Format(monthFormat)
	}
	view.Days = newChart(totals.All, month, view.Measure)
	view.Models = shares(totals.Models, totals.All, view.Measure)
	return view, totals, nil
}

// monthFormat is how a month is written in addresses.
const monthFormat = "2006-01"

// monthOf is the first day of the month that is asked for, by default that of now.
func monthOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC), nil
	}
	month, err := time.Parse(monthFormat, text)
	if err != nil {
		return month, &fault.Error{Kind: fault.Invalid, Message: "A month is written as 2026-11."}
	}
	return month, nil
}

func measureOf(text string) string {
	if text == "requests" || text == "tokens" {
		return text
	}
	return "cost"
}

// shares are the parts of a whole, the largest first, and the others as one.
func shares(all []accounts.Total, whole accounts.Total, measure string) []share {
	sum := whole.Sum()
	total := measured(sum, measure)
	result := make([]share, 0, len(all))
	for _, t := range all {
		s := share{Name: t.Name, Sums: t.Sum()}
		if total > 0 {
			s.Part = measured(s.Sums, measure) / total
		}
		result = append(result, s)
	}
	slices.SortFunc(result, func(a, b share) int {
		if x, y := measured(a.Sums, measure), measured(b.Sums, measure); x != y {
			return int(min(max((y-x)*1e9, -1), 1))
		}
		return strings.Compare(a.Name, b.Name)
	})
	var rest share
	if len(result) > maxShares {
		rest.Others = len(result) - maxShares
		result = result[:maxShares]
	}
	rest.Sums = sum
	for _, s := range result {
		rest.Sums = rest.Sums.Minus(s.Sums)
	}
	if rest.Sums.Requests > 0 {
		rest.Others = max(rest.Others, 1)
		if total > 0 {
			rest.Part = measured(rest.Sums, measure) / total
		}
		result = append(result, rest)
	}
	return result
}

// totalsHeader are the columns of a download of totals.
var totalsHeader = []string{"day", "by", "name", "requests", "input_tokens", "cached_tokens", "output_tokens", "cost_usd"}

// sendTotals sends the totals of a month by day.
func (c *Console) sendTotals(v *request, organization string) error {
	month, err := monthOf(v.r.FormValue("month"), c.opts.Now().UTC())
	if err != nil {
		return err
	}
	text := month.Format(monthFormat)
	totals, err := c.service.UsageTotals(v.ctx(), organization, text)
	if err != nil {
		return err
	}
	w := v.download("usage-" + text + ".csv")
	err = w.Write(totalsHeader)
	for _, group := range []struct {
		by  string
		all []accounts.Total
	}{{"day", []accounts.Total{totals.All}}, {"model", totals.Models}, {"key", totals.Keys}, {"organization", totals.Organizations}} {
		for _, t := range group.all {
			for day := 1; day <= 31 && err == nil; day++ {
				if s, ok := t.Days[day]; ok {
					err = w.Write([]string{
						fmt.Sprintf("%s-%02d", text, day), group.by, plainCell(t.Name), strconv.FormatInt(s.Requests, 10),
						strconv.FormatInt(s.InputTokens, 10), strconv.FormatInt(s.CachedTokens, 10), strconv.FormatInt(s.OutputTokens, 10), fmt.Sprint(s.Cost),
					})
				}
			}
		}
	}
	if err != nil {
		return gone(err)
	}
	w.Flush()
	return gone(w.Error())
}

// download begins a table that the browser keeps.
func (v *request) download(name string) *csv.Writer {
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return csv.NewWriter(v.w)
}

// ledgerHeader are the columns of a download of a ledger.
var ledgerHeader = []string{"id", "created_at", "type", "endpoint", "model", "key", "input_tokens", "cached_tokens", "output_tokens", "amount_usd", "object", "by"}

// sendLedger sends all entries of a ledger, oldest first, as they are read: a page
// of them is in memory at a time.
func (c *Console) sendLedger(v *request, organization string) error {
	p := svc.Page{Limit: 1000}
	page, err := c.service.Ledger(v.ctx(), organization, p)
	if err != nil {
		return err
	}
	w := v.download("ledger.csv")
	if err := w.Write(ledgerHeader); err != nil {
		return gone(err)
	}
	for {
		for _, e := range page.Items {
			if err := w.Write(ledgerRow(e)); err != nil {
				return gone(err)
			}
			p.After = e.ID
		}
		if w.Flush(); w.Error() != nil || !page.HasMore {
			return gone(w.Error())
		}
		if page, err = c.service.Ledger(v.ctx(), organization, p); err != nil {
			return err
		}
	}
}

func ledgerRow(e accounts.Entry) []string {
	return []string{
		e.ID, time.Unix(e.CreatedAt, 0).UTC().Format(time.RFC3339), string(e.Type), e.Use.Endpoint, plainCell(e.Use.Model), e.Key,
		strconv.Itoa(e.Use.InputTokens), strconv.Itoa(e.Use.CachedTokens), strconv.Itoa(e.Use.OutputTokens), fmt.Sprint(e.Amount), e.Use.Object, plainCell(e.By),
	}
}

// plainCell keeps a text that callers chose from being a formula where a
// spreadsheet opens it.
func plainCell(text string) string {
	if text != "" && (text[0] == '=' || text[0] == '+' || text[0] == '-' || text[0] == '@' || text[0] == '\t' || text[0] == '\r') {
		return "'" + text
	}
	return text
}
