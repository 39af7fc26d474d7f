package pdf

import "math"

// matrix is a transformation [a b c d e f] (ISO 32000-2, 8.3.3).
type matrix [6]float64

var identityMatrix = matrix{1, 0, 0, 1, 0, 0}

func translation(x, y float64) matrix { return matrix{1, 0, 0, 1, x, y} }

// then is the transformation m followed by n.
func (m matrix) then(n matrix) matrix {
	return matrix{
		m[0]*n[0] + m[1]*n[2], m[0]*n[1] + m[1]*n[3],
		m[2]*n[0] + m[3]*n[2], m[2]*n[1] + m[3]*n[3],
		m[4]*n[0] + m[5]*n[2] + n[4], m[4]*n[1] + m[5]*n[3] + n[5],
	}
}

// apply is where a point comes to lie.
func (m matrix) apply(v vector) vector {
	return vector{v.x*m[0] + v.y*m[2] + m[4], v.x*m[1] + v.y*m[3] + m[5]}
}

// vector is a point or a direction.
type vector struct{ x, y float64 }

func (v vector) minus(w vector) vector  { return vector{v.x - w.x, v.y - w.y} }
func (v vector) dot(w vector) float64   { return v.x*w.x + v.y*w.y }
func (v vector) cross(w vector) float64 { return v.x*w.y - v.y*w.x }
func (v vector) length() float64        { return math.Hypot(v.x, v.y) }
func (v vector) times(f float64) vector { return vector{v.x * f, v.y * f} }

// finite reports whether both numbers are, and are not too large to be added.
func (v vector) finite() bool {
	sum := v.x + v.y
	return sum-sum == 0 // NaN of anything else
}

// unit is the direction of v, to the right if v has none.
func (v vector) unit() vector {
	if n := v.length(); n > 0 && !math.IsInf(n, 0) {
		return v.times(1 / n)
	}
	return vector{1, 0}
}
