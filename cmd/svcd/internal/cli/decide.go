package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/model"
)

// decideCommands are the commands that decide about many states.
func decideCommands() []command {
	return []command{{
		words: "decide", args: "ROWS", access: uses, help: "ask questions about each row of a CSV or JSONL file, or each document of a folder",
		prepare: func(flags *flag.FlagSet) action {
			d := &deciding{}
			flags.StringVar(&d.model, "model", model.DefaultDecider, "`ID` of the model")
			flags.StringVar(&d.questionsFile, "questions", "", "`file` with the object questions of a request")
			flags.StringVar(&d.column, "state", "state", "`column` that is judged; where the rows have no column state, the whole row is, without its columns NAME.label")
			flags.StringVar(&d.outFile, "out", "", "`file` to write, CSV or JSONL by its name; without it the standard output")
			flags.BoolVar(&d.resume, "resume", false, "go on behind what the -out file has")
			flags.IntVar(&d.atOnce, "at-once", mostAtOnce, "how `many` rows are asked about at once at most; fewer where the server does not take so many")
			flags.BoolVar(&d.store, "store", false, "have the server store the decisions, whose IDs the output has as decision")
			flags.BoolVar(&d.batch, "batch", false, "ask in batches, which run when nobody else needs the models; a run that was interrupted finds its batch again")
			return d.run
		},
	}}
}

// deciding is one run over rows.
type deciding struct {
	*session
	model, questionsFile, column, outFile string
	resume, store, batch                  bool
	atOnce                                int

	questions json.RawMessage
	columns   []answerColumn
	asJSON    bool // the output is JSONL
	pace      *pace
}

// answerColumn is a column that answers add: a member of the answer to a question,
// or of its probabilities.
type answerColumn struct{ heading, question, member, option string }

func (d *deciding) run(ctx context.Context, s *session, args []string) error {
	d.session = s
	s.server.HTTP = manyClient
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
	in, err := openRows(args[0], d.column)
	if err != nil {
		return err
	}
	defer in.close()
	d.asJSON = in.heading == nil && d.outFile == "" || isJSONL(d.outFile)
	if in.heading == nil && !d.asJSON {
		return errors.New("rows of JSONL are written as JSONL: name the -out file so")
	}
	out, done, err := d.open(in.heading)
	if err != nil {
		return err
	}
	d.pace = newPace(d.atOnce)
	if d.batch {
		err = d.decideInBatches(ctx, in, out, done)
	} else {
		err = d.decide(ctx, in, out, done)
	}
	if out != d.Stdout {
		err = errors.Join(err, out.(io.Closer).Close())
	}
	return err
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

// open returns the output, with its heading, and how many rows it has already.
// What a kill has left of a row is cut off.
func (d *deciding) open(heading []string) (out io.Writer, done int, err error) {
	for _, c := range d.columns {
		heading = append(heading[:len(heading):len(heading)], c.heading)
	}
	heading = append(heading[:len(heading):len(heading)], "error")
	if d.store {
		heading = append(heading, decisionColumn)
	}
	if d.outFile == "" {
		if !d.asJSON {
			err = writeRecord(d.Stdout, heading)
		}
		return d.Stdout, 0, err
	}
	mode := os.O_RDWR | os.O_CREATE
	if !d.resume {
		mode |= os.O_EXCL // nothing that was paid for is overwritten
	}
	file, err := os.OpenFile(d.outFile, mode, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil, 0, fmt.Errorf("%s exists already: go on behind its rows with -resume, or name another file with -out", d.outFile)
	}
	if err != nil {
		return nil, 0, err
	}
	done, end, before, err := written(file, d.asJSON)
	if err == nil {
		err = file.Truncate(end)
	}
	if err == nil {
		_, err = file.Seek(end, io.SeekStart)
	}
	switch {
	case err != nil || d.asJSON:
	case before == nil:
		err = writeRecord(file, heading)
	case !slices.Equal(before, heading):
		err = fmt.Errorf("%s has the columns %s, which are those of other questions or rows", d.outFile, strings.Join(before, ", "))
	}
	if err != nil {
		return nil, 0, errors.Join(err, file.Close())
	}
	return file, done, nil
}

// written returns how many whole rows a file has, where the last one ends, and the
// heading of CSV.
func written(file io.Reader, asJSON bool) (rows int, end int64, heading []string, err error) {
	data, err := io.ReadAll(file)
	if err != nil {
		return 0, 0, nil, err
	}
	if asJSON {
		end := int64(bytes.LastIndexByte(data, '\n') + 1)
		return bytes.Count(data[:end], []byte("\n")), end, nil, nil
	}
	records := csv.NewReader(bytes.NewReader(data))
	records.FieldsPerRecord = -1
	for {
		record, err := records.Read()
		at := records.InputOffset()
		if err != nil || data[at-1] != '\n' {
			return rows, end, heading, nil
		}
		if end = at; heading == nil {
			heading = record
		} else {
			rows++
		}
	}
}

// decide asks about the rows behind the first done ones, as many at once as the
// server takes, and writes them in their order.
func (d *deciding) decide(ctx context.Context, in *rows, out io.Writer, done int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for range done {
		if _, err := in.next(ctx); err != nil {
			return fmt.Errorf("the rows end before those of %s: %w", d.outFile, err)
		}
	}
	waiting := make(chan chan result, d.atOnce) // in the order of the rows
	var readErr error                           // read when waiting is closed
	go func() {
		defer close(waiting)
		readErr = d.askAbout(ctx, in, waiting)
	}()
	var failed error
	progress := d.steps("rows", done, in.total)
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
			progress.step()
		}
	}
	progress.end()
	if failed == nil && readErr != io.EOF {
		failed = readErr
	}
	return failed
}

// result is a row and what was answered about it.
type result struct {
	row    *row
	answer answered
	err    error
}

// unreadable is the answer about a row without a state.
func (r *row) unreadable() (answered, error) {
	failure, err := refusedAs(r.err.Error())
	return answered{answers: failure, refused: true}, err
}

// askAbout asks about rows until there are no more, which is io.EOF, and hands on
// in their order where the results will be.
func (d *deciding) askAbout(ctx context.Context, in *rows, waiting chan<- chan result) error {
	for {
		r, err := in.next(ctx)
		if err != nil {
			return err
		}
		one := make(chan result, 1)
		select {
		case waiting <- one:
		case <-ctx.Done():
			return ctx.Err()
		}
		if r.err != nil {
			a, err := r.unreadable()
			one <- result{r, a, err}
			continue
		}
		go func() {
			a, err := d.ask(ctx, d.questions, r.state)
			one <- result{r, a, err}
		}()
	}
}

// write writes a row with its answers, in one piece.
func (d *deciding) write(out io.Writer, r *row, a answered) error {
	if d.asJSON {
		line := append(bytes.TrimSuffix(r.object, []byte("}")), `,"answers":`...)
		if bytes.Equal(r.object, []byte("{}")) {
			line = []byte(`{"answers":`)
		}
		line = append(line, a.answers...)
		if a.id != "" && d.store {
			line = append(line, `,"`+decisionColumn+`":"`+a.id+`"`...)
		}
		_, err := out.Write(append(line, "}\n"...))
		return err
	}
	var answers map[string]json.RawMessage
	if err := json.Unmarshal(a.answers, &answers); err != nil {
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
	record = append(record, failure)
	if d.store {
		record = append(record, a.id)
	}
	return writeRecord(out, record)
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
