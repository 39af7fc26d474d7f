package files

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// Process is the [Extractor] that reads each document in a process of its own,
// which has bounds on memory and time and is killed with everything it started
// when the context ends. A document that makes the reader crash or eat memory
// costs that document its text and nothing else.
type Process struct {
	// Command is the program to start and its first arguments; two more follow.
	// The program calls [RunProcess] with these two. It may be the calling program
	// itself.
	Command []string
}

// The bounds of a process.
const (
	processMemory = 2 << 30     // bytes of address space, as far as the system can bound it
	processHeap   = 1536 << 20  // bytes of heap from which on the collector works harder
	processStack  = 64 << 20    // bytes of one goroutine's stack
	processCPU    = 120         // seconds of processor time, should nobody kill it
	processExit   = time.Second // how long a killed one may take to be gone
	maxHead       = 64 << 10    // bytes of the line before the text
	maxComplaint  = 4 << 10     // bytes of what it says when it crashes that are kept
)

// processHead is the line that a process writes before the text.
type processHead struct {
	Reason  Reason `json:"reason,omitempty"` // of a document that cannot be read
	Detail  string `json:"detail,omitempty"`
	Pages   int    `json:"pages,omitempty"`
	Partial bool   `json:"partial,omitempty"`
	Dynamic bool   `json:"dynamic,omitempty"`
	Bytes   int    `json:"bytes"` // of the text
}

// Extract implements [Extractor].
func (p *Process) Extract(ctx context.Context, doc io.Reader, size int64, format Format) (Extracted, error) {
	if len(p.Command) == 0 {
		return Extracted{}, errors.New("files: Process.Command is empty")
	}
	args := append(p.Command[1:len(p.Command):len(p.Command)], string(format), strconv.FormatInt(size, 10))
	cmd := exec.CommandContext(ctx, p.Command[0], args...)
	// A reader is one thread, beside which the collector would wake others, and sees
	// none of the secrets.
	cmd.Env = []string{"GOTRACEBACK=single", "GOMAXPROCS=1", "GOMEMLIMIT=" + strconv.Itoa(processHeap)}
	source := &source{Reader: doc}
	cmd.Stdin = source
	complaint := new(beginning)
	cmd.Stderr = complaint
	cmd.WaitDelay = processExit
	ownGroup(cmd)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return Extracted{}, err
	}
	if err := cmd.Start(); err != nil {
		return Extracted{}, fmt.Errorf("files: starting an extraction: %w", err)
	}
	read, readErr := readResult(out)
	_ = out.Close() // who goes on writing ends by that
	waitErr := cmd.Wait()
	if ctx.Err() != nil {
		return Extracted{}, ctx.Err()
	}
	if source.err != nil {
		return Extracted{}, fmt.Errorf("files: reading a document: %w", source.err)
	}
	if waitErr != nil {
		return Extracted{}, died(waitErr, fmt.Sprintf("%s (%v)", complaint, readErr))
	}
	return read, readErr
}

// readResult reads what a process writes. The error is an *Unreadable where the
// process says so or writes something else.
func readResult(out io.Reader) (Extracted, error) {
	buffered := bufio.NewReaderSize(out, maxHead)
	line, err := buffered.ReadSlice('\n')
	var head processHead
	if err == nil {
		err = json.Unmarshal(line, &head)
	}
	if err == nil && (head.Bytes < 0 || head.Bytes > MaxText) {
		err = errTextOverLimit
	}
	if err != nil {
		return Extracted{}, &Unreadable{Crashed, fmt.Errorf("the result of the process: %w", err)}
	}
	if head.Reason != "" {
		return Extracted{}, &Unreadable{head.Reason, errors.New(head.Detail)}
	}
	var text strings.Builder
	text.Grow(head.Bytes)
	if _, err := io.CopyN(&text, buffered, int64(head.Bytes)); err != nil {
		return Extracted{}, &Unreadable{Crashed, fmt.Errorf("the text of the process: %w", err)}
	}
	return Extracted{Text: text.String(), Pages: head.Pages, Partial: head.Partial, Dynamic: head.Dynamic}, nil
}

// died translates the end of a process that did not exit with 0. One that was
// killed from outside, as the system does when memory runs out, may do better
// another time.
func died(err error, complaint string) error {
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return fmt.Errorf("files: extraction: %w", err)
	}
	err = fmt.Errorf("%w: %s", exit, complaint)
	if killed(exit) {
		return fmt.Errorf("files: extraction was killed: %w", err)
	}
	if strings.Contains(complaint, "out of memory") || strings.Contains(complaint, "cannot allocate memory") {
		return &Unreadable{TooLarge, err}
	}
	return &Unreadable{Crashed, err}
}

// source keeps the error of the document that a process is sent.
type source struct {
	io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ strings.Builder }

func (b *beginning) Write(p []byte) (int, error) {
	b.Builder.Write(p[:min(len(p), maxComplaint-b.Len())])
	return len(p), nil
}

// RunProcess is the other side of [Process]: the program that it starts calls
// this with its last two arguments and its standard input and output, and ends
// then, with a status other than 0 where the error is not nil. RunProcess bounds
// the memory of the whole program, which should do nothing else.
func RunProcess(ctx context.Context, args []string, in io.Reader, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("an extraction needs a format and a size")
	}
	size, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || size < 0 || size > MaxBytes {
		return fmt.Errorf("invalid size %q", args[1])
	}
	if err := boundProcess(); err != nil {
		return err
	}
	read, err := InProcess{}.Extract(ctx, in, size, Format(args[0]))
	head := processHead{Pages: read.Pages, Partial: read.Partial, Dynamic: read.Dynamic, Bytes: len(read.Text)}
	if u, ok := errors.AsType[*Unreadable](err); ok {
		head = processHead{Reason: u.Reason, Detail: beginningOf(u.Err.Error())}
	} else if err != nil {
		return err
	}
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := out.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = io.WriteString(out, read.Text)
	return err
}

func beginningOf(text string) string { return text[:min(len(text), maxComplaint)] }
