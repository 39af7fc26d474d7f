package pdf

// Predictor functions (ISO 32000-2, 7.4.4.4): each byte was stored as its
// difference to a neighbour.

// unpredict undoes the predictor named in the filter's parameters, if any.
func (f filter) unpredict(data []byte) []byte {
	kind := f.parms.get("Predictor").int()
	if kind < 2 {
		return data
	}
	colors := between(f.parms.get("Colors").int(), 1, 64, 1)
	bits := between(f.parms.get("BitsPerComponent").int(), 1, 16, 8)
	columns := between(f.parms.get("Columns").int(), 1, 1<<20, 1)
	pixel := max(1, colors*bits/8)
	row := (colors*bits*columns + 7) / 8
	if kind == 2 {
		if bits == 8 {
			undoTIFF(data, row, pixel)
		}
		return data
	}
	return undoPNG(data, row, pixel)
}

// between returns v if it lies in the range and otherwise the default.
func between(v, low, high, otherwise int) int {
	if v < low || v > high {
		return otherwise
	}
	return v
}

func undoTIFF(data []byte, row, pixel int) {
	for ; len(data) >= row; data = data[row:] {
		for i := pixel; i < row; i++ {
			data[i] += data[i-pixel]
		}
	}
}

// undoPNG decodes rows that begin with a byte naming their PNG filter.
func undoPNG(data []byte, row, pixel int) []byte {
	out := make([]byte, 0, len(data))
	above, cur := make([]byte, row), make([]byte, row)
	for len(data) > 1 {
		n := copy(cur, data[1:])
		clear(cur[n:])
		for i := range cur {
			left, corner := byte(0), byte(0)
			if i >= pixel {
				left, corner = cur[i-pixel], above[i-pixel]
			}
			cur[i] += pngPrediction(data[0], left, above[i], corner)
		}
		out = append(out, cur[:n]...)
		above, cur = cur, above
		data = data[1+n:]
	}
	return out
}

func pngPrediction(filter, left, up, corner byte) byte {
	switch filter {
	case 1:
		return left
	case 2:
		return up
	case 3:
		return byte((int(left) + int(up)) / 2)
	case 4:
		return paeth(int(left), int(up), int(corner))
	}
	return 0
}

func paeth(left, up, corner int) byte {
	p := left + up - corner
	dl, du, dc := abs(p-left), abs(p-up), abs(p-corner)
	switch {
	case dl <= du && dl <= dc:
		return byte(left)
	case du <= dc:
		return byte(up)
	}
	return byte(corner)
}

func abs(x int) int {
	if x < 0 {
		return -x
	}
	return x
}
