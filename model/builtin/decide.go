package builtin

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"hash/fnv"
	"image"
	"image/color"
	_ "image/jpeg" // what the interface takes
	_ "image/png"
	"math"
	"slices"
	"strings"

	_ "golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// state is what the model knows of a text that it judges.
type state struct {
	stems   stems
	terms   map[string]bool
	clauses []clause
	prints  []string // a fingerprint of each image
	tokens  int
}

// clause is a sentence.
type clause struct {
	text  string
	terms []string
}

var negation = expression(`(?i)\b(?:no|not|never|without|cannot|[a-z]+n['’]t)\b`)

func readState(parts ...model.Part) *state {
	s := &state{stems: stems{}, terms: map[string]bool{}}
	for _, part := range parts {
		text := ""
		switch p := part.(type) {
		case model.Text:
			text = string(p)
			s.tokens += countTokens(text)
		case model.Document:
			text = p.Name + "\n\n" + p.Text
			s.tokens += countTokens(p.Name) + countTokens(p.Text)
		case model.Image:
			text = describe(p)
			s.tokens += p.Tokens()
			print := sha256.Sum256(p.Data)
			s.prints = append(s.prints, string(print[:]))
		}
		for _, sentence := range sentences(text) {
			c := clause{sentence, s.stems.list(sentence)}
			for _, term := range c.terms {
				c.terms = append(c.terms, lists()["like "+term]...)
			}
			for _, term := range c.terms {
				s.terms[term] = true
			}
			s.clauses = append(s.clauses, c)
		}
	}
	return s
}

// Score implements [model.Scorer]. The numbers sum to 1, none is 0 or 1, and they do not
// depend on the order of the options. One that stands for a group weighs as much as its
// members together.
func (b *Backend) Score(ctx context.Context, req *model.ScoreRequest) (*model.Scores, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	parts, pictures := slices.Clone(req.State), 0
	for _, image := range req.Images {
		parts = append(parts, image)
		pictures += image.Tokens()
	}
	s := readState(parts...)
	var texts []string
	for _, option := range req.Options {
		texts = append(texts, strings.Split(strings.Join(option.Texts, "\n"), "\n")...)
	}
	question := "" // without its list of the options, which differs by their order
	for line := range strings.Lines(req.Question) {
		if !slices.ContainsFunc(texts, func(text string) bool { return text != "" && strings.HasSuffix(strings.TrimSpace(line), text) }) {
			question += line
		}
	}
	support, weights, probabilities := s.support(question)/2, []float64(nil), []float64(nil)
	for _, option := range req.Options {
		var members []float64
		for _, text := range option.Texts {
			members = append(members, math.Exp(s.match(text)+s.tie(question, text)+verdict(text)*support))
		}
		weights = append(weights, sum(members))
	}
	for _, weight := range weights {
		probabilities = append(probabilities, weight/sum(weights))
	}
	return &model.Scores{Probabilities: probabilities, StateTokens: s.tokens - pictures + countTokens(req.Instructions),
		QuestionTokens: pictures + countTokens(req.Question), OutputTokens: 1}, ctx.Err()
}

// sum adds numbers up from the smallest, so that their order does not change it.
func sum(numbers []float64) (total float64) {
	for _, n := range slices.Sorted(slices.Values(numbers)) {
		total += n
	}
	return total
}

// match returns how far the state speaks of an option, in units of log odds: by the terms
// that they share, most of all with the name before a colon.
func (s *state) match(text string) float64 {
	const weight, most = 1.0, 6.0
	name, _, _ := strings.Cut(text, ":")
	names, shared := s.stems.list(named(name)), 0.0
	for _, term := range s.stems.list(named(text)) {
		if s.terms[term] {
			shared += 1 + share([]string{term}, names)/float64(len(names)+1)
		}
	}
	return min(weight*shared, most)
}

// tie returns a little that tells options apart where nothing else does, by question and
// option, and lets every image count.
func (s *state) tie(question, text string) (evidence float64) {
	for _, by := range append(s.prints, "") {
		hash := sha256.Sum256([]byte(by + question + "\x00" + text))
		evidence += 0.03 * (float64(binary.BigEndian.Uint64(hash[:]))/math.MaxUint64 - 0.5)
	}
	return evidence
}

// support returns how far the state supports a statement or question, in units of log odds:
// how much of it the best sentence has, turned around where one of the two negates.
func (s *state) support(statement string) float64 {
	const slope, threshold, silent = 3, 0.3, -0.3
	query := slices.DeleteFunc(s.stems.list(named(statement)), func(term string) bool { return in("subject", term) })
	best, at := 0.0, ""
	for _, c := range s.clauses {
		if n := share(query, c.terms); n > best {
			best, at = n, c.text
		}
	}
	if best == 0 {
		return silent
	} else if negation().MatchString(at) != negation().MatchString(statement) {
		return -math.Abs(slope * (best - threshold))
	}
	return slope * (best - threshold)
}

// verdict returns 1 for an option that says yes, -1 for one that says no, and 0 for any
// other.
func verdict(text string) float64 {
	word, _, _ := strings.Cut(strings.ToLower(text), " ")
	return map[string]float64{"yes": 1, "true": 1, "no": -1, "false": -1}[strings.Trim(word, `.,:;"'-`)]
}

var (
	colours = color.Palette{
		color.RGBA{220, 30, 30, 255}, color.RGBA{250, 140, 20, 255}, color.RGBA{250, 230, 50, 255}, color.RGBA{40, 160, 60, 255},
		color.RGBA{20, 40, 160, 255}, color.RGBA{90, 160, 230, 255}, color.RGBA{130, 50, 170, 255}, color.RGBA{250, 150, 190, 255},
		color.RGBA{120, 75, 40, 255}, color.RGBA{250, 250, 250, 255}, color.RGBA{128, 128, 128, 255}, color.RGBA{10, 10, 10, 255},
	}
	colourNames = strings.Fields("red orange yellow green blue blue purple pink brown white gray black")
)

// describe puts what can be measured in an image into words: its shape, its colour and
// whether it is dark or bright, on the average. Of one that is broken or too large it is
// the shape alone.
func describe(img model.Image) (words string) {
	const side, dark, bright, mostPixels = 32, 60, 170, 1 << 24
	words = "Image, square"
	if img.Width*4 > img.Height*5 {
		words = "Image, wide, landscape"
	} else if img.Height*4 > img.Width*5 {
		words = "Image, tall, portrait"
	}
	// The data is a caller's, and a decoder that panics must not take the service down.
	defer func() { _ = recover() }()
	size, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > mostPixels/size.Height {
		return words
	}
	m, _, err := image.Decode(bytes.NewReader(img.Data))
	if err != nil {
		return words
	}
	var r, g, b int
	for i := range side * side {
		x, y := m.Bounds().Min.X+i%side*m.Bounds().Dx()/side, m.Bounds().Min.Y+i/side*m.Bounds().Dy()/side
		c := color.RGBAModel.Convert(m.At(x, y)).(color.RGBA)
		r, g, b = r+int(c.R), g+int(c.G), b+int(c.B)
	}
	mean := color.RGBA{uint8(r / side / side), uint8(g / side / side), uint8(b / side / side), 255}
	words += ", " + colourNames[colours.Index(mean)]
	if light := color.GrayModel.Convert(mean).(color.Gray).Y; light < dark {
		words += ". It is dark. It is not bright."
	} else if light > bright {
		words += ". It is bright. It is not dark."
	}
	return words
}

// Embed implements [model.Embedder]. A vector has length 1, and 256 numbers where a request
// does not say; the words of a text are hashed to its places, so that texts with words in
// common are near each other. It fails with a Rejected error for vectors of more than 4,096
// numbers and for a text over the context window.
func (b *Backend) Embed(ctx context.Context, req *model.EmbedRequest) (*model.Embeddings, error) {
	const usual, most = 256, 4096
	if req.Dimensions > most {
		return nil, &fault.Error{Kind: fault.Rejected, Code: "request_rejected", Param: "dimensions",
			Message: "The model makes vectors of at most 4096 dimensions."}
	}
	e, words := &model.Embeddings{}, stems{}
	for _, text := range req.Texts {
		tokens := countTokens(text)
		if err := ctx.Err(); err != nil {
			return nil, err
		} else if tokens > generator.Window() {
			return nil, fault.ContextLength("A text does not fit the model's context window of %d tokens.", generator.Window())
		}
		e.InputTokens += tokens
		vector := make([]float32, cmp.Or(req.Dimensions, usual))
		vector[0] = 0.01 // so that none is nothing
		for _, term := range words.list(text) {
			h := fnv.New64a()
			h.Write([]byte(term)) // never fails
			vector[h.Sum64()%uint64(len(vector))] += 1 - 2*float32(h.Sum64()>>63)
		}
		length := 0.0
		for _, x := range vector {
			length += float64(x) * float64(x)
		}
		for i := range vector {
			vector[i] /= float32(math.Sqrt(length))
		}
		e.Vectors = append(e.Vectors, vector)
	}
	return e, nil
}
