package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-506d8e5d/svc/model"
)

// decideCommands are the commands that decide about many states.
func decideCommands() []command {
	return []command{{
		words: "decide", args: "ROWS", help: "ask questions about each row of a CSV or JSONL file",
		prepare: func(flags *flag.FlagSet) action {
			d := &deciding{}
			flags.StringVar(&d.model, "model", model.DefaultDecider, "`ID` of the model")
			flags.StringVar(&d.questionsFile, "questions", "", "`file` with the object questions of a request")
			flags.StringVar(&d.column, "state", "state", "`column` that is judged; where there is none, the whole row is")
			flags.StringVar(&d.outFile, "out", "", "`file` to write, CSV or JSONL by its name; without it the standard output")
			flags.BoolVar(&d.resume, "resume", false, "go on behind what the -out file has")
			flags.IntVar(&d.atOnce, "at-once", 8, "how `many` rows are asked about at once")
			return d.run
		},
	}}
}

// deciding is one run over a file of rows.
type deciding struct {
	*session
	model, questionsFile, column, outFile string
	resume                                bool
	atOnce                                int

	questions json.RawMessage
	columns   []answerColumn
	heading   []string // of a CSV file
	asJSON    bool     // the output is JSONL
}

// answerColumn is a column that answers add: a member of the answer to a question,
// or of its probabilities.
type answerColumn struct{ heading, question, member, option string }

// row is a row of the input.
type row struct {
	fields []string        // of a CSV file
	object json.RawMessage // as JSON
	state  json.RawMessage
}

func (d *deciding) run(ctx context.Context, s *session, args []string) error {
	d.session = s
	if s.key == "" {
		return errors.New("no API key: set -key or SVC_API_KEY")
	}
	if d.questionsFile == "" || d.atOnce < 1 || d.resume && d.outFile == "" {
		return errors.New("-questions is required, -at-once is at least 1, and -resume needs -out")
	}
	var err error
	if d.questions, err = os.ReadFile(d.questionsFile); err != nil {
		return err
	}
	if d.columns, err = answerColumns(d.questions); err != nil {
		return fmt.Errorf("%s: %w", d.questionsFile, err)
	}
	in, err := os.Open(args[0])
	if err != nil {
		return err
	}
	defer in.Close()
	fromJSON := isJSONL(args[0])
	d.asJSON = fromJSON && d.outFile == "" || isJSONL(d.outFile)
	next, err := d.reader(in, fromJSON)
	if err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	if fromJSON && !d.asJSON {
		return errors.New("rows of JSONL are written as JSONL: name the -out file so")
	}
	out, done, err := d.open()
	if err != nil {
		return err
	}
	err = d.decide(ctx, next, out, done)
	if out != d.stdout {
		err = errors.Join(err, out.(io.Closer).Close())
	}
	return err
}

func isJSONL(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".jsonl" || ext == ".ndjson"
}

// answerColumns returns the columns that the answers to questions add to CSV.
func answerColumns(questions json.RawMessage) ([]answerColumn, error) {
	var columns []answerColumn
	err := eachMember(questions, func(name string, raw json.RawMessage) error {
		var q struct {
			Type     string
			Criteria json.RawMessage
		}
		if err := json.Unmarshal(raw, &q); err != nil {
			return err
		}
		columns = append(columns, answerColumn{name, name, q.Type, ""})
		switch q.Type {
		case "choice", "score":
			columns = append(columns, answerColumn{name + ".confidence", name, "confidence", ""})
		}
		option := func(option string) {
			columns = append(columns, answerColumn{name + ".p." + option, name, "probabilities", option})
		}
		switch q.Type {
		case "choice", "labels":
			return eachMember(q.Criteria, func(name string, _ json.RawMessage) error { option(name); return nil })
		case "score":
			var levels []json.RawMessage
			err := json.Unmarshal(q.Criteria, &levels)
			for i := range levels {
				option(strconv.Itoa(i))
			}
			return err
		}
		return nil
	})
	return columns, err
}

// eachMember calls do with the members of an object in their order.
func eachMember(object json.RawMessage, do func(name string, value json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return errors.Join(errors.New("it must be a JSON object"), err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
		if err := do(name.(string), value); err != nil {
			return err
		}
	}
	return nil
}

// reader returns what reads the next row; its error is io.EOF behind the last.
func (d *deciding) reader(in io.Reader, fromJSON bool) (func() (*row, error), error) {
	if fromJSON {
		lines := bufio.NewReader(in)
		return func() (*row, error) { return d.jsonRow(lines) }, nil
	}
	records := csv.NewReader(in)
	var err error
	if d.heading, err = records.Read(); err != nil {
		return nil, err
	}
	at := slices.Index(d.heading, d.column)
	return func() (*row, error) {
		fields, err := records.Read()
		if err != nil {
			return nil, err
		}
		object := make(map[string]string, len(fields))
		for i, name := range d.heading {
			object[name] = fields[i]
		}
		r := &row{fields: fields}
		if r.object, err = json.Marshal(object); err != nil {
			return nil, err
		}
		if r.state = r.object; at >= 0 {
			r.state, err = json.Marshal(fields[at])
		}
		return r, err
	}, nil
}

func (d *deciding) jsonRow(lines *bufio.Reader) (*row, error) {
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
		r := &row{object: slices.Clone(line), state: slices.Clone(line)}
		if state, ok := members[d.column]; ok {
			r.state = state
		}
		return r, nil
	}
}

// open returns the output and how many rows it has already. What a kill has left
// of a row is cut off.
func (d *deciding) open() (out io.Writer, done int, err error) {
	if d.outFile == "" {
		return d.stdout, 0, nil
	}
	mode := os.O_RDWR | os.O_CREATE
	if !d.resume {
		mode |= os.O_EXCL // nothing that was paid for is overwritten
	}
	file, err := os.OpenFile(d.outFile, mode, 0o666)
	if err != nil {
		return nil, 0, err
	}
	end := int64(0)
	if done, end, err = written(file, d.asJSON); err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, done, nil
}

// written returns how many whole rows a file has, and where the last one ends. The
// heading of CSV counts as one.
func written(file io.Reader, asJSON bool) (rows int, end int64, err error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return 0, 0, err
	}
	if asJSON {
		end := int64(bytes.LastIndexByte(data, '\n') + 1)
		return bytes.Count(data[:end], []byte("\n")), end, nil
	}
	records := csv.NewReader(bytes.NewReader(data))
	records.FieldsPerRecord = -1
	for {
		_, err := records.Read()
		if at := records.InputOffset(); err != nil || data[at-1] != '\n' {
			return rows, end, nil
		} else {
			rows, end = rows+1, at
		}
	}
}

// decide asks about the rows behind the first done ones, several at once, and
// writes them in their order.
func (d *deciding) decide(ctx context.Context, next func() (*row, error), out io.Writer, done int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !d.asJSON {
		if done == 0 {
			if err := d.writeHeading(out); err != nil {
				return err
			}
		} else {
			done--
		}
	}
	for range done {
		if _, err := next(); err != nil {
			return fmt.Errorf("the rows end before those of %s: %w", d.outFile, err)
		}
	}
	type result struct {
		row    *row
		answer json.RawMessage
		err    error
	}
	waiting := make(chan chan result, d.atOnce) // in the order of the rows
	readErr := make(chan error, 1)
	go func() {
		defer close(waiting)
		for {
			r, err := next()
			if err != nil {
				readErr <- err
				return
			}
			one := make(chan result, 1)
			select {
			case waiting <- one:
			case <-ctx.Done():
				readErr <- ctx.Err()
				return
			}
			go func() {
				a, err := d.ask(ctx, d.questions, r.state)
				one <- result{r, a.answers, err}
			}()
		}
	}()
	var failed error
	count := done
	for one := range waiting {
		r := <-one
		if failed == nil {
			if failed = r.err; failed == nil {
				failed = d.write(out, r.row, r.answer)
			}
			if failed != nil {
				cancel() // the rest of the rows is left for -resume
				continue
			}
			if count++; count%100 == 0 && d.outFile != "" {
				fmt.Fprintf(d.stderr, "\r%d rows", count)
			}
		}
	}
	if d.outFile != "" {
		fmt.Fprintf(d.stderr, "\r%d rows\n", count)
	}
	if err := <-readErr; failed == nil && err != io.EOF {
		failed = err
	}
	return failed
}

// answered is what the server says about a state: the answers, or what is wrong
// with the row as their member error.
type answered struct {
	answers json.RawMessage
	refused bool
	tokens  int
	took    time.Duration // the last try
}

// ask decides about one state. It tries again while the server is busy.
func (d *deciding) ask(ctx context.Context, questions, state json.RawMessage) (answered, error) {
	body, err := json.Marshal(map[string]any{"model": d.model, "state": state, "questions": questions})
	if err != nil {
		return answered{}, err
	}
	const tries = 6
	for pause := time.Second / 2; ; pause *= 2 {
		begin := time.Now()
		status, answer, err := d.post(ctx, body)
		took := time.Since(begin)
		busy := err != nil || status == http.StatusTooManyRequests || status >= 500
		switch {
		case ctx.Err() != nil:
			return answered{}, ctx.Err()
		case busy && pause < time.Second/2<<tries:
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			continue
		case err != nil:
			return answered{}, err
		}
		var reply struct {
			Answers json.RawMessage
			Usage   struct {
				InputTokens int `json:"input_tokens"`
			}
			Detail struct{ Message string }
		}
		if err := json.Unmarshal(answer, &reply); err != nil {
			return answered{}, fmt.Errorf("the server answered %d", status)
		}
		switch status {
		case http.StatusOK:
			return answered{answers: reply.Answers, tokens: reply.Usage.InputTokens, took: took}, nil
		case http.StatusBadRequest: // this row does not fit the model
			failure, err := json.Marshal(map[string]string{"error": reply.Detail.Message})
			return answered{answers: failure, refused: true}, err
		}
		return answered{}, fmt.Errorf("%s (%d)", reply.Detail.Message, status)
	}
}

func (d *deciding) post(ctx context.Context, body []byte) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(d.url, "/")+"/v1/systemone", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	req.Header.Set("Authorization", "Bearer "+d.key)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, fmt.Errorf("the server cannot be reached: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	return resp.StatusCode, answer, err
}

func (d *deciding) writeHeading(out io.Writer) error {
	heading := slices.Clone(d.heading)
	for _, c := range d.columns {
		heading = append(heading, c.heading)
	}
	return writeRecord(out, append(heading, "error"))
}

// write writes a row with its answers, in one piece.
func (d *deciding) write(out io.Writer, r *row, answer json.RawMessage) error {
	if d.asJSON {
		line := append(bytes.TrimSuffix(r.object, []byte("}")), `,"answers":`...)
		if bytes.Equal(r.object, []byte("{}")) {
			line = []byte(`{"answers":`)
		}
		_, err := out.Write(append(append(line, answer...), "}\n"...))
		return err
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(answer, &answers); err != nil {
		return err
	}
	record := slices.Clone(r.fields)
	failure := ""
	if len(answers) == 1 {
		json.Unmarshal(answers["error"], &failure) // a question of that name is an object
	}
	for _, c := range d.columns {
		var members map[string]json.RawMessage
		if failure == "" {
			if err := json.Unmarshal(answers[c.question], &members); err != nil {
				return err
			}
		}
		value := members[c.member]
		if c.option != "" {
			var options map[string]json.RawMessage
			if failure == "" {
				if err := json.Unmarshal(value, &options); err != nil {
					return err
				}
			}
			value = options[c.option]
		}
		record = append(record, cell(value))
	}
	return writeRecord(out, append(record, failure))
}

// cell returns a value as CSV has it.
func cell(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) == nil {
		return text
	}
	var list []string
	if json.Unmarshal(value, &list) == nil {
		return strings.Join(list, "|")
	}
	return string(value)
}

func writeRecord(out io.Writer, record []string) error {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if err := w.Write(record); err != nil {
		return err
	}
	w.Flush()
	_, err := out.Write(b.Bytes())
	return err
}
