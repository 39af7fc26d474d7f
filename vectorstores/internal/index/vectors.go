package index

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// EncodeVectors returns vectors as bytes, as they are stored:
//
//	version       a byte
//	dimensions    uvarint
//	each vector   a signed byte for each number, as a share of the largest
//
// They are of finite numbers and of one length.
func EncodeVectors(vectors [][]float32) []byte {
	out := binary.AppendUvarint([]byte{version}, uint64(len(vectors[0])))
	for _, v := range vectors {
		largest := float32(0)
		for _, x := range v {
			largest = max(largest, x, -x)
		}
		for _, x := range v {
			if largest > 0 {
				x = x / largest * 127
			}
			out = append(out, byte(int8(math.RoundToEven(float64(x)))))
		}
	}
	return out
}

// Vectors are vectors of the chunks of an [Index], by which the nearest to another one
// are found. A chunk may have none. The search looks at the signs of all vectors, a bit
// for each number, and at the numbers of the fifth that fits best. Vectors are not safe
// for concurrent use, but for several searches at once.
type Vectors struct {
	dimensions int
	words      int       // of the signs of a vector
	numbers    []int8    // of all vectors, one after the other
	signs      []uint64  // likewise
	scale      []float32 // by chunk: one over the length of the vector; 0 where there is none
}

// exactUpTo is how many vectors are all looked at, and oneOf which part of more than
// that.
const (
	exactUpTo = 5000
	oneOf     = 5
)

// Dimensions returns the length of the vectors, 0 where there are none.
func (v *Vectors) Dimensions() int { return v.dimensions }

// Size returns about how many bytes of memory they take.
func (v *Vectors) Size() int { return cap(v.numbers) + 8*cap(v.signs) + 4*cap(v.scale) }

// Skip adds n chunks without vectors.
func (v *Vectors) Skip(n int) {
	v.scale = append(v.scale, make([]float32, n)...)
	v.numbers = append(v.numbers, make([]int8, n*v.dimensions)...)
	v.signs = append(v.signs, make([]uint64, n*v.words)...)
}

// Add adds the vectors of the next chunks, as [EncodeVectors] has written them, and
// returns how many they are. The error says that the bytes are none, or of another
// length than those that are there.
func (v *Vectors) Add(data []byte) (n int, err error) {
	d := decoder{data: data}
	if h := d.bytes(1); d.err == nil && h[0] != version {
		d.fail()
	}
	dimensions := d.number(1 << 16)
	if d.err == nil && (dimensions == 0 || len(d.data)%dimensions != 0 || v.dimensions != 0 && v.dimensions != dimensions) {
		d.fail()
	}
	if d.err != nil {
		return 0, d.err
	}
	if v.dimensions == 0 {
		before := len(v.scale)
		v.scale = v.scale[:0]
		v.dimensions, v.words = dimensions, (dimensions+63)/64
		v.Skip(before)
	}
	for ; len(d.data) > 0; n++ {
		v.add(d.bytes(dimensions))
	}
	return n, nil
}

func (v *Vectors) add(numbers []byte) {
	sum := 0
	at := len(v.signs)
	v.signs = append(v.signs, make([]uint64, v.words)...)
	for i, b := range numbers {
		x := int8(b)
		v.numbers = append(v.numbers, x)
		sum += int(x) * int(x)
		if x > 0 {
			v.signs[at+i/64] |= 1 << (i % 64)
		}
	}
	scale := float32(0)
	if sum > 0 {
		scale = float32(1 / math.Sqrt(float64(sum)))
	}
	v.scale = append(v.scale, scale)
}

// Search returns the chunks whose vectors are nearest to another one by their angle, up
// to limit, the nearest first, of those that accept takes; nil takes all. A score is
// the cosine. The query is of finite numbers.
func (v *Vectors) Search(query []float32, limit int, accept func(chunk int) bool) []Hit {
	if v.dimensions == 0 || len(query) != v.dimensions {
		return nil
	}
	numbers, scale := quantize(query)
	best := newTop(limit)
	best.least = -2
	look := func(chunk int) {
		if v.scale[chunk] == 0 {
			return
		}
		score := float32(dot(v.numbers[chunk*v.dimensions:(chunk+1)*v.dimensions], numbers)) * v.scale[chunk] * scale
		if score > best.least && (accept == nil || accept(chunk)) {
			best.offer(Hit{chunk, score})
		}
	}
	if len(v.scale) <= exactUpTo {
		for chunk := range v.scale {
			look(chunk)
		}
		return best.sorted()
	}
	buffer, _ := estimates.Get().(*[]int32)
	if buffer == nil || cap(*buffer) < len(v.scale) {
		buffer = new(make([]int32, len(v.scale)+len(v.scale)/8))
	}
	defer estimates.Put(buffer)
	estimate := (*buffer)[:len(v.scale)]
	v.estimate(numbers, estimate)
	least := threshold(estimate, max(exactUpTo, len(estimate)/oneOf))
	for chunk, e := range estimate {
		if e >= least {
			look(chunk)
		}
	}
	return best.sorted()
}

var estimates sync.Pool // of *[]int32

// queryRange is the largest number of a query as it is searched for.
const queryRange = 4095

// quantize returns a query as numbers up to queryRange, and one over their length.
func quantize(query []float32) (numbers []int16, scale float32) {
	largest := float32(0)
	for _, x := range query {
		largest = max(largest, x, -x)
	}
	numbers = make([]int16, len(query))
	sum := 0.0
	for i, x := range query {
		if largest > 0 {
			numbers[i] = int16(math.RoundToEven(float64(x / largest * queryRange)))
		}
		sum += float64(numbers[i]) * float64(numbers[i])
	}
	if sum > 0 {
		scale = float32(1 / math.Sqrt(sum))
	}
	return numbers, scale
}

// dot returns the sum of products.
func dot(numbers []int8, query []int16) int32 {
	query = query[:len(numbers)]
	var a, b, c, d int32
	i := 0
	for ; i+4 <= len(numbers); i += 4 {
		n, q := numbers[i:i+4:i+4], query[i:i+4:i+4]
		a += int32(n[0]) * int32(q[0])
		b += int32(n[1]) * int32(q[1])
		c += int32(n[2]) * int32(q[2])
		d += int32(n[3]) * int32(q[3])
	}
	for ; i < len(numbers); i++ {
		a += int32(numbers[i]) * int32(query[i])
	}
	return a + b + c + d
}

// planes is how many bits of the numbers of a query the estimate takes.
const planes = 4

// estimate estimates how near vectors are by their signs: the sum of the numbers of the
// query where the sign is positive, less those where it is not.
func (v *Vectors) estimate(query []int16, result []int32) {
	bitsOf := make([]uint64, planes*v.words) // by word, the planes of the query's numbers as 0 to 15
	for i, x := range query {
		level := (int(x) + queryRange) * (1<<planes - 1) / (2 * queryRange)
		for p := range planes {
			bitsOf[i/64*planes+p] |= uint64(level>>p&1) << (i % 64)
		}
	}
	for chunk := range result {
		signs := v.signs[chunk*v.words : (chunk+1)*v.words]
		levels, ones := 0, 0
		for w, s := range signs {
			q := bitsOf[w*planes : w*planes+planes : w*planes+planes]
			levels += bits.OnesCount64(s&q[0]) + bits.OnesCount64(s&q[1])<<1 + bits.OnesCount64(s&q[2])<<2 + bits.OnesCount64(s&q[3])<<3
			ones += bits.OnesCount64(s)
		}
		result[chunk] = int32(2*levels - ones*(1<<planes-1)) // a level is half of the range above the least
	}
}

// threshold returns a value that about wanted of the values reach.
func threshold(values []int32, wanted int) int32 {
	const bins = 4096
	least, most := values[0], values[0]
	for _, x := range values {
		least, most = min(least, x), max(most, x)
	}
	width := (int(most)-int(least))/bins + 1
	var counts [bins + 1]int
	for _, x := range values {
		counts[(int(x)-int(least))/width]++
	}
	reached := 0
	for bin := bins; bin >= 0; bin-- {
		if reached += counts[bin]; reached >= wanted {
			return least + int32(bin*width)
		}
	}
	return least
}
