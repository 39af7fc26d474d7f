package ooxml

import (
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/seed-506d8e5d/svc/extract"
)

// Relationship names a part that another part uses.
type Relationship struct {
	ID   string
	Kind string // the last element of the type

	to string
}

// Relationships reads a part of relationships, without external targets.
func Relationships(c *Container, part []byte) []Relationship {
	var list struct {
		Relationship []struct {
			ID         string `xml:"Id,attr"`
			Type       string `xml:",attr"`
			Target     string `xml:",attr"`
			TargetMode string `xml:",attr"`
		}
	}
	if !Decode(part, &list) {
		c.Damaged = true
	}
	var rels []Relationship
	for _, r := range list.Relationship {
		if r.TargetMode != "External" {
			rels = append(rels, Relationship{r.ID, path.Base(r.Type), r.Target})
		}
	}
	return rels
}

// Links reads the addresses among the relationships.
func Links(part []byte) map[string]string {
	var list struct {
		Relationship []struct {
			ID         string `xml:"Id,attr"`
			Target     string `xml:",attr"`
			TargetMode string `xml:",attr"`
		}
	}
	Decode(part, &list) // Relationships says whether the part is whole
	links := map[string]string{}
	for _, r := range list.Relationship {
		if r.TargetMode == "External" {
			links[r.ID] = r.Target
		}
	}
	return links
}

// Target returns the name of the part, which is relative to dir.
func (r Relationship) Target(dir string) string {
	to := strings.ReplaceAll(r.to, `\`, "/")
	if plain, err := url.PathUnescape(to); err == nil {
		to = plain
	}
	if strings.HasPrefix(to, "/") {
		return to
	}
	return path.Join(dir, to)
}

// RelationshipsOf returns the name of the part with the relationships of a part.
func RelationshipsOf(name string) string {
	return path.Join(path.Dir(name), "_rels", path.Base(name)+".rels")
}

// Main returns the name of the main part: the one that the package says, or the usual
// one if it says nothing usable.
func (c *Container) Main(usual string) (string, error) {
	rels, err := c.ReadSide("_rels/.rels", MaxSide)
	if err != nil {
		return "", err
	}
	for _, r := range Relationships(c, rels) {
		if r.Kind == "officeDocument" && c.Has(r.Target("")) {
			return r.Target(""), nil
		}
	}
	if !c.Has(usual) {
		return "", fmt.Errorf("%w: there is no main part", extract.ErrFormat)
	}
	return usual, nil
}

// Targets returns the names of the parts of a kind that a part uses, by the IDs of the
// relationships.
func (c *Container) Targets(part, kind string) (map[string]string, error) {
	rels, err := c.ReadSide(RelationshipsOf(part), MaxSide)
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for _, r := range Relationships(c, rels) {
		if r.Kind == kind {
			names[r.ID] = r.Target(path.Dir(part))
		}
	}
	return names, nil
}
