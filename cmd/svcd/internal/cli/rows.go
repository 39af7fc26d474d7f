package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/seed-506d8e5d/svc/files"
)

// row is a row of the input: of a CSV file, of a JSONL file, or a document of a
// folder.
type row struct {
	fields []string        // of a CSV file and of a folder
	object json.RawMessage // as JSON
	state  json.RawMessage
	err    error // why there is no state: the document cannot be read
}

// rows are the rows of an input.
type rows struct {
	heading []string // of CSV, and of a folder; nil for JSONL
	total   int
	// next returns the next row; its error is io.EOF behind the last.
	next  func(ctx context.Context) (*row, error)
	close func() error
}

// stateColumn is the column that is judged where no other is named.
const stateColumn = "state"

// labelSuffix ends the names of columns with right answers, which nobody judges by.
const labelSuffix = ".label"

// noColumn is the error of rows that do not have the column that is to be judged.
func noColumn(column string, names []string) error {
	return fmt.Errorf("there is no column %q; the columns are %s", column, strings.Join(names, ", "))
}

// openRows opens a CSV or JSONL file, or a folder. Of a row the column of that name is
// judged. Where the rows have no column [stateColumn] the whole row is, without its
// labels; any other column has to be there.
func openRows(name, column string) (*rows, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return openFolder(name)
	}
	r, err := openFile(name, column)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	counted, err := openFile(name, column)
	if err != nil {
		return nil, errors.Join(err, r.close())
	}
	for err == nil {
		if _, err = counted.next(context.Background()); err == nil {
			r.total++
		}
	}
	// What ended the count before the last row is found again where the row is read.
	if err := counted.close(); err != nil {
		return nil, errors.Join(err, r.close())
	}
	return r, nil
}

func openFile(name, column string) (*rows, error) {
	in, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	r := &rows{close: in.Close}
	text := transform.NewReader(in, unicode.BOMOverride(transform.Nop)) // UTF-8, or UTF-16 with its mark
	if isJSONL(name) {
		lines := bufio.NewReader(text)
		r.next = func(context.Context) (*row, error) { return jsonRow(lines, column) }
		return r, nil
	}
	records := csv.NewReader(text)
	if r.heading, err = records.Read(); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	at := slices.Index(r.heading, column)
	if at < 0 && column != stateColumn {
		return nil, errors.Join(noColumn(column, r.heading), in.Close())
	}
	r.next = func(context.Context) (*row, error) { return csvRow(records, r.heading, at) }
	return r, nil
}

func isJSONL(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".jsonl" || ext == ".ndjson"
}

func csvRow(records *csv.Reader, heading []string, at int) (*row, error) {
	fields, err := records.Read()
	if err != nil {
		return nil, err
	}
	object := make(map[string]string, len(fields))
	for i, name := range heading {
		object[name] = fields[i]
	}
	r := &row{fields: fields}
	if r.object, err = json.Marshal(object); err != nil {
		return nil, err
	}
	if at >= 0 {
		r.state, err = json.Marshal(fields[at])
		return r, err
	}
	maps.DeleteFunc(object, func(name, _ string) bool { return strings.HasSuffix(name, labelSuffix) })
	r.state, err = json.Marshal(object)
	return r, err
}

func jsonRow(lines *bufio.Reader, column string) (*row, error) {
	for {
		line, err := lines.ReadBytes('\n')
		if line = bytes.TrimSpace(line); len(line) == 0 {
			if err != nil {
				return nil, err
			}
			continue
		}
		var members map[string]json.RawMessage
		if err := json.Unmarshal(line, &members); err != nil {
			return nil, fmt.Errorf("a line is no JSON object: %w", err)
		}
		r := &row{object: slices.Clone(line)}
		state, ok := members[column]
		switch {
		case ok:
			r.state = state
			return r, nil
		case column != stateColumn:
			return nil, noColumn(column, slices.Sorted(maps.Keys(members)))
		}
		r.state, err = withoutLabels(r.object, members)
		return r, err
	}
}

// withoutLabels returns a JSON object without its labels, as it is where it has none.
func withoutLabels(object json.RawMessage, members map[string]json.RawMessage) (json.RawMessage, error) {
	before := len(members)
	maps.DeleteFunc(members, func(name string, _ json.RawMessage) bool { return strings.HasSuffix(name, labelSuffix) })
	if len(members) == before {
		return object, nil
	}
	return json.Marshal(members)
}

// openFolder makes a row of each document in a folder and the folders in it, by
// their paths: what is judged is the text, read as svcd extract does. Files whose
// names begin with a dot are left out.
func openFolder(folder string) (*rows, error) {
	var names []string
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		hidden := path != folder && strings.HasPrefix(entry.Name(), ".")
		switch {
		case err != nil:
			return err
		case hidden && entry.IsDir():
			return fs.SkipDir
		case !hidden && entry.Type().IsRegular():
			names = append(names, path)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	reader := &files.Process{Command: []string{self, ReaderCommand}}
	read := 0
	next := func(ctx context.Context) (*row, error) {
		if read == len(names) {
			return nil, io.EOF
		}
		read++
		return documentRow(ctx, reader, folder, names[read-1])
	}
	return &rows{heading: []string{"file"}, total: len(names), next: next, close: func() error { return nil }}, nil
}

func documentRow(ctx context.Context, reader files.Extractor, folder, name string) (*row, error) {
	relative, err := filepath.Rel(folder, name)
	if err != nil {
		return nil, err
	}
	r := &row{fields: []string{relative}}
	if r.object, err = json.Marshal(map[string]string{"file": relative}); err != nil {
		return nil, err
	}
	document := readFile(ctx, reader, name)
	if document.Error != "" {
		r.err = errors.New(document.Error)
		return r, ctx.Err()
	}
	r.state, err = json.Marshal(document.Text)
	return r, err
}
