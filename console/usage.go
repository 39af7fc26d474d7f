package console

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/accounts"
)

// maxCharged is how many of the newest charges the charts add up: their work is
// bounded however much was used.
const maxCharged = 2000

// usageView is what an organization used.
type usageView struct {
	Token        string
	Organization accounts.Organization
	Base         string // the path of the page
	Measure      string // requests, tokens or cost
	Days         chart
	Models, Keys []share
	Entries      []accounts.Entry // the ledger's newest
	Next         string
	Counted      int
	More         bool // whether there are older charges than the charts have
	Since        int64
}

// share is what one model or key has of the whole.
type share struct {
	Name     string
	Requests int
	Tokens   int
	Cost     accounts.Micros
	Part     float64 // of the measure, 0 to 1
}

func (c *Console) usagePage(v *visit) error { return c.showUsage(v, v.caller.Organization, "/usage") }

func (c *Console) usageCSV(v *visit) error { return c.sendUsage(v, v.caller.Organization) }

func (c *Console) organizationUsagePage(v *visit) error {
	id := v.r.PathValue("id")
	return c.showUsage(v, id, "/admin/organizations/"+id+"/usage")
}

func (c *Console) organizationUsageCSV(v *visit) error { return c.sendUsage(v, v.r.PathValue("id")) }

func (c *Console) showUsage(v *visit, organization, base string) error {
	o, err := c.service.Organization(v.ctx(), organization)
	if err != nil {
		return err
	}
	view := usageView{Token: v.session.Token, Organization: o, Base: base, Measure: measureOf(v.r)}
	charges, more, err := c.charges(v, organization)
	if err != nil {
		return err
	}
	view.Counted, view.More = len(charges), more
	view.add(charges)
	page, err := c.service.Usage(v.ctx(), organization, newest(v.r))
	if err != nil {
		return err
	}
	view.Entries = page.Items
	if n := len(page.Items); n > 0 {
		view.Next = nextPage(page.HasMore, page.Items[n-1].ID, "")
	}
	return v.render("usage", "Usage", view)
}

func measureOf(r *http.Request) string {
	if m := r.FormValue("measure"); m == "requests" || m == "tokens" {
		return m
	}
	return "cost"
}

// charges are the newest of an organization, and whether there are older ones.
func (c *Console) charges(v *visit, organization string) (all []accounts.Entry, more bool, err error) {
	p := svc.Page{Limit: 1000, Desc: true}
	for {
		page, err := c.service.Usage(v.ctx(), organization, p)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page.Items...)
		if !page.HasMore || len(all) >= maxCharged {
			return all, page.HasMore, nil
		}
		p.After = page.Items[len(page.Items)-1].ID
	}
}

// measured is what an entry adds to the measure of a chart.
func measured(e accounts.Entry, measure string) float64 {
	switch measure {
	case "requests":
		return 1
	case "tokens":
		return float64(e.Use.InputTokens + e.Use.OutputTokens)
	}
	return float64(e.Cost()) / float64(accounts.Dollar)
}

// add sums charges up by day, model and key.
func (u *usageView) add(charges []accounts.Entry) {
	days := make(map[string]float64)
	models, keys := make(map[string]*share), make(map[string]*share)
	total := 0.0
	for _, e := range charges {
		m := measured(e, u.Measure)
		total += m
		days[time.Unix(e.CreatedAt, 0).UTC().Format(time.DateOnly)] += m
		for _, s := range []*share{shareOf(models, e.Use.Model), shareOf(keys, e.Key)} {
			s.Requests++
			s.Tokens += e.Use.InputTokens + e.Use.OutputTokens
			s.Cost += e.Cost()
			s.Part += m
		}
		u.Since = e.CreatedAt
	}
	u.Days = newChart(days, u.Measure)
	u.Models, u.Keys = sorted(models, total), sorted(keys, total)
}

func shareOf(shares map[string]*share, name string) *share {
	s := shares[name]
	if s == nil {
		s = &share{Name: name}
		shares[name] = s
	}
	return s
}

// sorted are shares of a total, the largest first.
func sorted(shares map[string]*share, total float64) []share {
	all := make([]share, 0, len(shares))
	for _, s := range shares {
		if total > 0 {
			s.Part /= total
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b share) int {
		if a.Part != b.Part {
			return int(min(max((b.Part-a.Part)*1e9, -1), 1))
		}
		return len(a.Name) - len(b.Name)
	})
	return all
}

// csvHeader are the columns of a download.
var csvHeader = []string{"id", "created_at", "endpoint", "model", "key", "input_tokens", "cached_tokens", "output_tokens", "cost_usd", "object"}

// sendUsage sends all charges of an organization, oldest first, as they are read:
// a page of them is in memory at a time.
func (c *Console) sendUsage(v *visit, organization string) error {
	p := svc.Page{Limit: 1000}
	page, err := c.service.Usage(v.ctx(), organization, p)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "text/csv; charset=utf-8")
	h.Set("Content-Disposition", `attachment; filename="usage.csv"`)
	w := csv.NewWriter(v.w)
	if err := w.Write(csvHeader); err != nil {
		return gone(err)
	}
	for {
		for _, e := range page.Items {
			if err := w.Write(csvRow(e)); err != nil {
				return gone(err)
			}
			p.After = e.ID
		}
		if w.Flush(); w.Error() != nil || !page.HasMore {
			return gone(w.Error())
		}
		if page, err = c.service.Usage(v.ctx(), organization, p); err != nil {
			return err
		}
	}
}

func csvRow(e accounts.Entry) []string {
	return []string{
		e.ID, time.Unix(e.CreatedAt, 0).UTC().Format(time.RFC3339), e.Use.Endpoint, plainCell(e.Use.Model), e.Key,
		strconv.Itoa(e.Use.InputTokens), strconv.Itoa(e.Use.CachedTokens), strconv.Itoa(e.Use.OutputTokens), fmt.Sprint(e.Cost()), e.Use.Object,
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
