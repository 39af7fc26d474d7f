package console

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/seed-506d8e5d/svc"
	"github.com/seed-506d8e5d/svc/decisions"
	"github.com/seed-506d8e5d/svc/fault"
)

// The bounds of a file of rows.
const (
	maxRows     = 2000
	maxRowsFile = 8 << 20
	rowsAtOnce  = 4 // that are judged
)

// row is one line of a file: what it says, and what is to be judged of it.
type row struct {
	Cells  []string
	State  json.RawMessage
	Answer string // the right one, where the file has it
}

// rowsFile is a file of rows with the names of its columns.
type rowsFile struct {
	Columns []string
	Rows    []row
}

// stateColumns are the columns that are the state where a file has one of them: the
// first of the list wins. Otherwise the whole row is.
var stateColumns = []string{"state", "text", "input", "message"}

// answerColumns are the columns that have the right answer, the first of the list
// first.
var answerColumns = []string{"answer", "label", "right"}

// columnOf returns the first column of a file that has one of the names, -1 for none.
func columnOf(columns, names []string) int {
	for _, name := range names {
		if at := slices.IndexFunc(columns, func(column string) bool { return strings.EqualFold(strings.TrimSpace(column), name) }); at >= 0 {
			return at
		}
	}
	return -1
}

// readRows reads a file of rows: JSON Lines where its first character says so, and
// otherwise CSV with a header.
func readRows(data []byte) (rowsFile, error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	trimmed := bytes.TrimSpace(data)
	if len(trimmed) == 0 {
		return rowsFile{}, badRows("The file is empty.")
	}
	if trimmed[0] == '{' || trimmed[0] == '"' {
		return readJSONLines(trimmed)
	}
	return readCSV(data)
}

func badRows(format string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Message: fmt.Sprintf(format, args...)}
}

func readJSONLines(data []byte) (rowsFile, error) {
	f := rowsFile{Columns: []string{"state"}}
	n := 0
	for line := range bytes.Lines(data) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if len(f.Rows) == maxRows {
			return f, badRows("A file has at most %s rows.", grouped(maxRows))
		}
		if !json.Valid(line) {
			return f, badRows("Line %d is not JSON.", n)
		}
		state := json.RawMessage(bytes.Clone(line))
		var fields map[string]json.RawMessage
		answer := ""
		if json.Unmarshal(line, &fields) == nil {
			for _, name := range slices.Backward(answerColumns) {
				if value, ok := fields[name]; ok {
					answer = stateLine(value)
				}
			}
			for _, name := range stateColumns {
				if value, ok := fields[name]; ok {
					state = value
					break
				}
			}
		}
		f.Rows = append(f.Rows, row{Cells: []string{stateLine(state)}, State: state, Answer: answer})
	}
	return f, nil
}

func readCSV(data []byte) (rowsFile, error) {
	r := csv.NewReader(bytes.NewReader(data))
	if header, _, _ := bytes.Cut(data, []byte("\n")); bytes.Count(header, []byte(";")) > bytes.Count(header, []byte(",")) {
		r.Comma = ';'
	}
	var f rowsFile
	var err error
	if f.Columns, err = r.Read(); err != nil {
		return f, badRows("The file is neither CSV with a header nor JSON Lines: %v.", err)
	}
	at, answer := columnOf(f.Columns, stateColumns), columnOf(f.Columns, answerColumns)
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return f, nil
		}
		if err != nil {
			return f, badRows("The file cannot be read as CSV: %v.", err)
		}
		if len(f.Rows) == maxRows {
			return f, badRows("A file has at most %s rows.", grouped(maxRows))
		}
		one := row{Cells: cells}
		if at >= 0 {
			one.State = marshal(cells[at])
		} else {
			fields := map[string]string{}
			for i, cell := range cells {
				if i != answer {
					fields[f.Columns[i]] = cell
				}
			}
			one.State = marshal(fields)
		}
		if answer >= 0 {
			one.Answer = cells[answer]
		}
		f.Rows = append(f.Rows, one)
	}
}

// judgeRows judges the rows of a file with the questions of the form, and sends the
// file back with the answers, row by row as they are made: the header X-Rows says how
// many come.
func (c *Console) judgeRows(v *request) error {
	form, file, err := v.rowsForm()
	if err != nil {
		return err
	}
	form.State = "of the rows"
	form.Kind = stateText
	req, err := form.request()
	if err != nil {
		return err
	}
	w := v.download("judged.csv")
	v.w.Header().Set("X-Rows", strconv.Itoa(len(file.Rows)))
	header := slices.Clone(file.Columns)
	for _, q := range req.Questions {
		header = append(header, q.Name, q.Name+" confidence")
	}
	if err := w.Write(append(plainCells(header), "error")); err != nil {
		return gone(err)
	}
	rc := http.NewResponseController(v.w.ResponseWriter)
	err = c.judge(v, req, file.Rows, func(i int, r *decisions.Response, failed error) error {
		cells := slices.Clone(file.Rows[i].Cells)
		for q := range req.Questions {
			if failed != nil {
				cells = append(cells, "", "")
				continue
			}
			view := viewOf(r.Answers[q], nil)
			cells = append(cells, view.Verdict, strconv.FormatFloat(view.Confidence, 'f', 4, 64))
		}
		reason := ""
		if failed != nil {
			reason = v.reason(failed)
		}
		_ = rc.SetWriteDeadline(time.Now().Add(stallTimeout)) // a writer without deadlines needs none
		if err := w.Write(append(plainCells(cells), reason)); err != nil {
			return gone(err)
		}
		if w.Flush(); w.Error() != nil {
			return gone(w.Error())
		}
		return gone(rc.Flush())
	})
	w.Flush() // the header, where there are no rows
	return cmp.Or(err, gone(w.Error()))
}

func plainCells(cells []string) []string {
	all := make([]string, len(cells))
	for i, cell := range cells {
		all[i] = plainCell(cell)
	}
	return all
}

// judged is the answer to a row, or why there is none.
type judged struct {
	response *decisions.Response
	err      error
}

// judge asks the questions of a request about rows, a few at once, and hands the
// answers on in the order of the rows. A row that fails does not stop the others; one
// that nothing can be paid for does.
func (c *Console) judge(v *request, req *decisions.Request, rows []row, each func(i int, r *decisions.Response, failed error) error) error {
	group, ctx := errgroup.WithContext(v.ctx())
	results := make([]chan judged, len(rows))
	for i := range results {
		results[i] = make(chan judged, 1)
	}
	group.Go(func() error {
		workers := errgroup.Group{}
		workers.SetLimit(rowsAtOnce)
		for i := range rows {
			if ctx.Err() != nil {
				break
			}
			workers.Go(func() error {
				results[i] <- c.judgeRow(ctx, v.caller, req, rows[i].State)
				return nil
			})
		}
		return workers.Wait()
	})
	group.Go(func() error {
		for i := range rows {
			select {
			case one := <-results[i]:
				if fault.Is(one.err, fault.NoCredits) {
					return errors.Join(each(i, nil, one.err), errGone)
				}
				if err := each(i, one.response, one.err); err != nil {
					return err
				}
			case <-ctx.Done():
				return errGone
			}
		}
		return nil
	})
	return group.Wait()
}

func (c *Console) judgeRow(ctx context.Context, caller svc.Caller, req *decisions.Request, state json.RawMessage) judged {
	if _, err := c.service.Admit(caller); err != nil {
		return judged{err: err}
	}
	one := *req
	one.State = state
	r, err := c.service.Decide(ctx, caller, &one)
	return judged{r, err}
}

// rowsForm reads the form with the file, whose fields are those of the playground, and
// checks its token.
func (v *request) rowsForm() (form decideForm, file rowsFile, err error) {
	v.r.Body = http.MaxBytesReader(v.w, v.r.Body, maxRowsFile+maxForm)
	unread := v.r.ParseMultipartForm(maxRowsFile)
	if err := v.checkToken(cmp.Or(v.r.Header.Get("X-Console-Token"), v.r.PostForm.Get("token"))); err != nil {
		return form, file, err
	}
	if unread != nil {
		return form, file, &fault.Error{Kind: fault.TooLarge, Message: "The form is too large or cannot be read.", Err: unread}
	}
	defer func() { _ = v.r.MultipartForm.RemoveAll() }()
	if text := v.r.PostForm.Get("request"); text != "" {
		if form, err = formOf([]byte(text)); err != nil {
			return form, file, err
		}
		form.Model = cmp.Or(v.r.PostForm.Get("model"), form.Model)
	} else {
		form = readDecideForm(v.r.PostForm)
	}
	upload, _, err := v.r.FormFile("rows")
	if err != nil {
		return form, file, badRows("Choose a file of rows first.")
	}
	defer upload.Close()
	data, err := io.ReadAll(io.LimitReader(upload, maxRowsFile+1))
	if err != nil {
		return form, file, err
	}
	if len(data) > maxRowsFile {
		return form, file, &fault.Error{Kind: fault.TooLarge, Message: "A file of rows has at most 8 MiB."}
	}
	file, err = readRows(data)
	return form, file, err
}
