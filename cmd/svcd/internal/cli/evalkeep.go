package cli

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// keeper keeps the answers of an evaluation in a file, one to a line, as they come.
// The zero value keeps nothing.
type keeper struct {
	of  string // what was asked about what, as a hash
	old []keptAnswer

	mu   sync.Mutex
	file *os.File // guarded by mu; nil: nothing is kept
}

// keptAnswer is a line.
type keptAnswer struct {
	Of    string `json:"of"`
	Model string `json:"model"`
	Row   int    `json:"row"`
	evalAnswer
}

// openKeeper reads the answers that a file has, and adds to it. Without a name it
// keeps nothing.
func openKeeper(name string, questions json.RawMessage, rows []evalRow, flips bool) (*keeper, error) {
	k := &keeper{}
	if name == "" {
		return k, nil
	}
	h := sha256.New()
	fmt.Fprintf(h, "%t %s", flips, questions)
	for _, row := range rows {
		fmt.Fprintf(h, "\n%s", row.state)
	}
	k.of = hex.EncodeToString(h.Sum(nil))
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(file)
	end := bytes.LastIndexByte(data, '\n') + 1 // behind it is what a kill has left of a line
	for line := range bytes.Lines(data[:end]) {
		var a keptAnswer
		if bad := json.Unmarshal(line, &a); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, bad))
			break
		}
		if a.Of == k.of && a.Row < len(rows) {
			k.old = append(k.old, a)
		}
	}
	if err == nil {
		err = file.Truncate(int64(end))
	}
	if err == nil {
		_, err = file.Seek(int64(end), io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	k.file = file
	return k, nil
}

// known puts the answers of a model from before in their places, and returns which
// there are.
func (k *keeper) known(model string, answers []evalAnswer) map[int]bool {
	done := map[int]bool{}
	for _, a := range k.old {
		if a.Model == model {
			answers[a.Row], done[a.Row] = a.evalAnswer, true
		}
	}
	return done
}

// add keeps an answer.
func (k *keeper) add(model string, row int, a evalAnswer) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	line, err := json.Marshal(keptAnswer{k.of, model, row, a})
	if err != nil {
		return err
	}
	_, err = k.file.Write(append(line, '\n'))
	return err
}

func (k *keeper) close() {
	if k.file != nil {
		_ = k.file.Close() // each line has been written
	}
}
