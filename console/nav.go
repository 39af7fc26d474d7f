package console

import (
	"slices"

	"github.com/seed-506d8e5d/svc/signon"
)

// navGroup is a group of places in the navigation.
type navGroup struct {
	Name   string
	Places []navPlace
}

// navPlace is a link of the navigation.
type navPlace struct {
	Name, Path, Icon string
	Current          bool
	pages            []string // further pages that stand at this place
}

// The places of the navigation, in order. A page is named for its template.
var (
	callerPlaces = []navGroup{
		{"Playground", []navPlace{
			{Name: "Decide", Path: "/decide", Icon: "M4 6h16M4 12h10M4 18h6"},
			{Name: "Evaluate", Path: "/evaluate", Icon: "M4 12l5 5L20 6"},
			{Name: "Chat", Path: "/respond", Icon: "M4 5h16v11H9l-5 4z"},
			{Name: "Quick start", Path: "/start", Icon: "M7 8l-4 4 4 4m10-8l4 4-4 4M13 5l-2 14"},
		}},
		{"Observe", []navPlace{
			{Name: "Log", Path: "/log", Icon: "M4 6h2m3 0h11M4 12h2m3 0h11M4 18h2m3 0h11", pages: []string{"log", "response", "completion", "decision"}},
			{Name: "Overview", Path: "/overview", Icon: "M4 4h7v7H4zm9 0h7v4h-7zM4 14h7v6H4zm9-3h7v9h-7z"},
			{Name: "Usage", Path: "/usage", Icon: "M5 20V10m7 10V4m7 16v-7"},
		}},
		{"Data", []navPlace{
			{Name: "Files", Path: "/files", Icon: "M6 3h8l4 4v14H6zM14 3v4h4", pages: []string{"files", "file"}},
			{Name: "Labels", Path: "/labels", Icon: "M4 4h8l8 8-8 8-8-8zM8 8h.1", pages: []string{"labels", "label"}},
			{Name: "Calibrations", Path: "/calibrations", Icon: "M4 20L20 4M4 20h16M4 20V4m4 12h.1m3.9-5h.1m3.9-4h.1", pages: []string{"calibrations", "calibration"}},
			{Name: "Conversations", Path: "/conversations", Icon: "M3 5h12v8H8l-5 3zM9 16h6l6 3V9h-3", pages: []string{"conversations", "conversation"}},
		}},
	}
	adminPlaces = []navGroup{
		{"Administration", []navPlace{
			{Name: "Organizations", Path: "/admin/organizations", Icon: "M4 21V5h9v16m0-11h7v11M7 9h3m-3 4h3m-3 4h3", pages: []string{"organizations", "organization"}},
			{Name: "Keys", Path: "/admin/keys", Icon: "M15 9a4 4 0 1 1-4 4m1-1-8 8m2-2 3 3", pages: []string{"keys", "key"}},
			{Name: "Usage of all", Path: "/admin/usage", Icon: "M3 20h18M6 16l4-5 4 3 5-8", pages: []string{"allusage"}},
			{Name: "Audit log", Path: "/admin/audit", Icon: "M12 3l8 3v6c0 5-4 8-8 9-4-1-8-4-8-9V6z"},
			{Name: "System", Path: "/admin/system", Icon: "M4 5h16v6H4zm0 8h16v6H4zM8 8h.1M8 16h.1"},
		}},
	}
)

// The places of what a server may go without.
var (
	batchesPlace  = navPlace{Name: "Batches", Path: "/batches", Icon: "M4 8l8-4 8 4-8 4zm0 4l8 4 8-4M4 16l8 4 8-4", pages: []string{"batches", "batch"}}
	webhooksPlace = navPlace{Name: "Webhooks", Path: "/webhooks", Icon: "M9 8a3 3 0 1 1 4 3l-3 5m-1-3a3 3 0 1 0 3 3h5m0 0a3 3 0 1 0-2-5", pages: []string{"webhooks", "webhook"}}
)

// keysPlace and organizationPlace are for who has signed in at the provider.
var (
	keysPlace         = navPlace{Name: "My keys", Path: "/keys", Icon: "M15 9a4 4 0 1 1-4 4m1-1-8 8m2-2 3 3", pages: []string{"ownkeys"}}
	organizationPlace = navPlace{Name: "Organization", Path: "/organization", Icon: "M4 21V5h9v16m0-11h7v11M7 9h3m-3 4h3m-3 4h3", pages: []string{"ownorganization"}}
)

// navigation is what the visitor may go to from a page.
func (v *request) navigation(page string) []navGroup {
	var all []navGroup
	if v.session.calls() {
		all = append(all, callerPlaces...)
		data := &all[len(all)-1]
		data.Places = slices.Clone(data.Places)
		if v.c.opts.Batches != nil {
			data.Places = append(data.Places, batchesPlace)
		}
		if v.c.opts.Webhooks != nil {
			data.Places = append(data.Places, webhooksPlace)
		}
	}
	if p := v.session.Person; p != nil {
		own := navGroup{Name: "Account"}
		if p.Role.Includes(signon.Member) {
			own.Places = append(own.Places, keysPlace)
		}
		if p.Role.Includes(signon.Admin) {
			own.Places = append(own.Places, organizationPlace)
		}
		if own.Places != nil {
			all = append(all, own)
		}
	}
	if v.admin {
		all = append(all, adminPlaces...)
	}
	marked := make([]navGroup, len(all))
	for i, group := range all {
		marked[i] = navGroup{group.Name, slices.Clone(group.Places)}
		for j := range marked[i].Places {
			p := &marked[i].Places[j]
			p.Current = slices.Contains(p.pages, page) || p.pages == nil && (p.Path == "/"+page || p.Path == "/admin/"+page)
		}
	}
	return marked
}
