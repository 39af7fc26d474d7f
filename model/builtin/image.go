package builtin

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"strings"

	"golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/model"
)

const (
	mostPixels = 1 << 24 // an image with more is not decoded
	gridSide   = 48      // pixels looked at in each direction
)

// fingerprint returns a number that differs for different data.
func fingerprint(data []byte) uint64 {
	sum := sha256.Sum256(data)
	return binary.BigEndian.Uint64(sum[:])
}

// describeImage puts what can be measured in an image into words. It describes
// the size alone of an image that is too large or broken.
func describeImage(img model.Image) string {
	words := []string{"image", shapeWord(img.Width, img.Height)}
	if m := decodeImage(img); m != nil {
		words = append(words, measure(m).words()...)
	}
	return strings.Join(words, " ") + "."
}

func shapeWord(width, height int) string {
	switch {
	case width*4 > height*5:
		return "landscape wide"
	case height*4 > width*5:
		return "portrait tall"
	}
	return "square"
}

// decodeImage returns the pixels of an image, or nil.
func decodeImage(img model.Image) (m image.Image) {
	defer func() {
		// The data is a caller's, and a decoder that panics must not take the
		// service down with it.
		if recover() != nil {
			m = nil
		}
	}()
	config, decode := png.DecodeConfig, png.Decode
	switch img.MediaType {
	case "image/jpeg":
		config, decode = jpeg.DecodeConfig, jpeg.Decode
	case "image/webp":
		config, decode = webp.DecodeConfig, webp.Decode
	}
	size, err := config(bytes.NewReader(img.Data))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > mostPixels/size.Height {
		return nil
	}
	m, err = decode(bytes.NewReader(img.Data))
	if err != nil {
		return nil
	}
	return m
}

// look is what was measured in an image. Brightness, contrast and edges are
// from 0 to 1.
type look struct {
	brightness, contrast, edges float64
	colours                     map[string]float64 // share of each colour name
}

// measure looks at a grid of pixels.
func measure(m image.Image) look {
	bounds := m.Bounds()
	across, down := min(bounds.Dx(), gridSide), min(bounds.Dy(), gridSide)
	l := look{colours: make(map[string]float64)}
	if across == 0 || down == 0 {
		return l
	}
	luma := make([]float64, across*down)
	share := 1 / float64(across*down)
	for i := range luma {
		x := bounds.Min.X + (i%across)*bounds.Dx()/across
		y := bounds.Min.Y + (i/across)*bounds.Dy()/down
		r, g, b, _ := m.At(x, y).RGBA()
		red, green, blue := float64(r)/0xffff, float64(g)/0xffff, float64(b)/0xffff
		luma[i] = 0.299*red + 0.587*green + 0.114*blue
		l.brightness += luma[i] * share
		l.colours[colourName(red, green, blue)] += share
	}
	for i, v := range luma {
		l.contrast += (v - l.brightness) * (v - l.brightness) * share
		if i%across > 0 {
			l.edges += math.Abs(v-luma[i-1]) * share
		}
	}
	l.contrast = 2 * math.Sqrt(l.contrast)
	return l
}

// words returns what the measures are called.
func (l look) words() []string {
	var words []string
	add := func(word string, holds bool) {
		if holds {
			words = append(words, word)
		}
	}
	add("dark", l.brightness < 0.25)
	add("bright", l.brightness > 0.65)
	add("plain blank", l.contrast < 0.05)
	add("contrast", l.contrast > 0.6)
	add("detailed", l.edges > 0.12)
	const dominant, present = 0.5, 0.15
	for _, colour := range colourNames {
		add(colour, l.colours[colour] >= present)
		add(colour, l.colours[colour] >= dominant) // twice counts more
	}
	add("colorful", len(words) > 0 && l.chromatic() > 0.5)
	add("grayscale monochrome", l.chromatic() < 0.02)
	return words
}

var colourNames = []string{"red", "orange", "yellow", "green", "cyan", "blue", "purple", "pink", "brown", "white", "gray", "black"}

// chromatic returns the share of pixels with a hue.
func (l look) chromatic() float64 {
	return 1 - l.colours["white"] - l.colours["gray"] - l.colours["black"]
}

// colourName returns the everyday name of a colour.
func colourName(r, g, b float64) string {
	high, low := max(r, g, b), min(r, g, b)
	chroma := high - low
	switch {
	case high < 0.18:
		return "black"
	case chroma < 0.12:
		if low > 0.85 {
			return "white"
		}
		return "gray"
	}
	h := hue(r, g, b)
	switch {
	case h < 15 || h >= 345:
		if low > 0.55 {
			return "pink"
		}
		return "red"
	case h < 45:
		if high < 0.65 {
			return "brown"
		}
		return "orange"
	case h < 70:
		return "yellow"
	case h < 165:
		return "green"
	case h < 195:
		return "cyan"
	case h < 255:
		return "blue"
	case h < 300:
		return "purple"
	}
	return "pink"
}

// hue returns the angle of a colour that has one, in degrees from red.
func hue(r, g, b float64) float64 {
	high, low := max(r, g, b), min(r, g, b)
	chroma := high - low
	var h float64
	switch high {
	case r:
		h = (g - b) / chroma
	case g:
		h = 2 + (b-r)/chroma
	default:
		h = 4 + (r-g)/chroma
	}
	return math.Mod(h*60+360, 360)
}
