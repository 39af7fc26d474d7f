package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/seed-506d8e5d/svc/client"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// decisionColumn names the ID of a stored decision in rows.
const decisionColumn = "decision"

// maxLabelLine bounds a line of labels in bytes: a state with its labels.
const maxLabelLine = 32 << 20

// labelCommands are the commands for the labels of stored decisions.
func labelCommands() []command {
	return []command{{
		words: "labels export", access: uses, help: "write stored decisions and their labels as JSONL, which svcd eval and svcd labels import read",
		prepare: func(flags *flag.FlagSet) action {
			var f decisions.Filter
			flags.StringVar(&f.Question, "question", "", "`name` of a question that the decisions have; all where it is left out")
			flags.StringVar(&f.Model, "model", "", "`ID` of the model that answered")
			all := flags.Bool("all", false, "write decisions that have no label, too")
			return func(ctx context.Context, s *session, _ []string) error {
				if labeled := true; !*all {
					f.Labeled = &labeled
				}
				return s.exportLabels(ctx, f)
			}
		},
	}, {
		words: "labels import", args: "FILE…", access: uses, help: "label stored decisions: each line has a decision and its labels as NAME.label; - is the standard input",
		prepare: func(*flag.FlagSet) action {
			return func(ctx context.Context, s *session, names []string) error {
				var failed error
				for _, name := range names {
					if err := s.importLabels(ctx, name); err != nil {
						failed = errors.Join(failed, fmt.Errorf("%s: %w", name, err))
					}
				}
				return failed
			}
		},
	}}
}

// exportLabels writes a line for each stored decision, the oldest first.
func (s *session) exportLabels(ctx context.Context, f decisions.Filter) error {
	out := bufio.NewWriter(s.Stdout)
	for p := (client.Page{Limit: decisions.MaxPage}); ; {
		found, err := s.server.StoredDecisions(ctx, client.Caller{}, f, p)
		if err != nil {
			return errors.Join(sentence(err), out.Flush())
		}
		for i := range found.Items {
			out.Write(labelLine(&found.Items[i])) // Flush has the error
			p.After = found.Items[i].ID
		}
		if err := out.Flush(); err != nil || !found.HasMore {
			return err
		}
	}
}

// labelLine returns the line of a stored decision: a row of svcd eval with the
// decision's ID.
func labelLine(k *decisions.Kept) []byte {
	var w jsonout.Writer
	w.Object()
	w.Name(decisionColumn).String(k.ID)
	w.Name("model").String(k.Model)
	w.Name(stateColumn).Raw(jsonout.Plain(k.State))
	for _, l := range k.Labels {
		w.Name(l.Question + labelSuffix).Raw(l.Answer)
	}
	w.EndObject()
	return append(w.Buf, '\n')
}

// importLabels sets the labels that a file has. A line that the server does not take
// is told and left out.
func (s *session) importLabels(ctx context.Context, name string) error {
	in := s.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return errors.Unwrap(err)
		}
		defer file.Close()
		in = file
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxLabelLine)
	set, refused := 0, 0
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		id, labels, err := readLabels(lines.Bytes())
		if err == nil && len(labels) > 0 {
			_, err = s.server.LabelDecision(ctx, client.Caller{}, id, labels)
			err = sentence(err)
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			refused++
			fmt.Fprintf(s.Stderr, "%s: line %d: %v\n", name, number, err)
		case len(labels) > 0:
			set++
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	fmt.Fprintf(s.Stderr, "%s: %d decisions are labelled.\n", name, set)
	if refused > 0 {
		return fmt.Errorf("%d lines were not taken", refused)
	}
	return nil
}

// readLabels returns the decision of a line and its labels, in the order that they
// have there. The label null removes one.
func readLabels(line []byte) (id string, labels []decisions.Label, err error) {
	err = eachMember(line, func(name string, value json.RawMessage) error {
		if name == decisionColumn {
			return json.Unmarshal(value, &id)
		}
		if question, ok := strings.CutSuffix(name, labelSuffix); ok && question != "" {
			labels = append(labels, decisions.Label{Question: question, Answer: value})
		}
		return nil
	})
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && id == "" {
		err = fmt.Errorf("it has no member %q", decisionColumn)
	}
	return id, labels, err
}
