package decisions

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/seed-506d8e5d/svc/decisions/calibration"
	"github.com/seed-506d8e5d/svc/internal/jsonout"
)

// maxRowsRecord is how many bytes the rows of a calibration may have to be kept.
const maxRowsRecord = 4 << 20

// rowsRecord is what is stored of the rows of a calibration: the probabilities of all
// but the last option, which follows from them, row after row.
type rowsRecord struct {
	Options int       `json:"options"`
	P       []float64 `json:"p"`
	Right   []int     `json:"right"`
}

// encodeRows returns the stored form of rows, nil where it is too large.
func encodeRows(rows []calibration.Row) []byte {
	r := rowsRecord{Options: len(rows[0].P)}
	for _, row := range rows {
		for _, p := range row.P[:len(row.P)-1] {
			r.P = append(r.P, math.Round(p*1e9)/1e9) // closer ones are tied
		}
		r.Right = append(r.Right, row.Right)
	}
	data, err := jsonout.Marshal(r)
	if err != nil || len(data) > maxRowsRecord {
		return nil // numbers always encode
	}
	return data
}

func decodeRows(data []byte) ([]calibration.Row, error) {
	var r rowsRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Options < MinOptions || len(r.P) != len(r.Right)*(r.Options-1) {
		return nil, fmt.Errorf("decisions: the rows of a calibration have %d probabilities of %d options for %d rows", len(r.P), r.Options, len(r.Right))
	}
	rows := make([]calibration.Row, len(r.Right))
	for i := range rows {
		p := make([]float64, r.Options)
		rest := 1.0
		for j := range r.Options - 1 {
			p[j] = r.P[i*(r.Options-1)+j]
			rest -= p[j]
		}
		p[r.Options-1] = max(rest, 0)
		rows[i] = calibration.Row{P: p, Right: r.Right[i]}
	}
	return rows, nil
}
