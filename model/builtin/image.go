package builtin

import (
	"bytes"
	"image"
	_ "image/jpeg" // what the interface takes
	_ "image/png"
	"math"
	"strings"

	_ "golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/model"
)

// describe puts what can be measured in an image into words: its shape, brightness,
// contrast and colours. Of one that is broken or too large it is the shape alone.
func describe(img model.Image) string {
	words := []string{"image", "square"}
	if img.Width*4 > img.Height*5 {
		words[1] = "landscape wide"
	} else if img.Height*4 > img.Width*5 {
		words[1] = "portrait tall"
	}
	if m := decode(img); m != nil {
		words = append(words, look(m)...)
	}
	return strings.Join(words, " ") + "."
}

// decode returns the pixels of an image, or nil.
func decode(img model.Image) (m image.Image) {
	const mostPixels = 1 << 24
	// The data is a caller's, and a decoder that panics must not take the service down.
	defer func() {
		if recover() != nil {
			m = nil
		}
	}()
	size, _, err := image.DecodeConfig(bytes.NewReader(img.Data))
	if err != nil || size.Width <= 0 || size.Height <= 0 || size.Width > mostPixels/size.Height {
		return nil
	}
	if m, _, err = image.Decode(bytes.NewReader(img.Data)); err != nil {
		return nil
	}
	return m
}

var colourNames = strings.Fields("red orange yellow green cyan blue purple pink brown white gray black")

// look measures a grid of pixels and returns what the measures are called.
func look(m image.Image) (words []string) {
	const side, dominant, present = 48, 0.5, 0.15
	bounds, colours := m.Bounds(), map[string]float64{}
	across, down := min(bounds.Dx(), side), min(bounds.Dy(), side)
	var brightness, contrast, edges float64
	luma, share := make([]float64, across*down), 1/float64(across*down)
	for i := range luma {
		r, g, b, _ := m.At(bounds.Min.X+i%across*bounds.Dx()/across, bounds.Min.Y+i/across*bounds.Dy()/down).RGBA()
		red, green, blue := float64(r)/0xffff, float64(g)/0xffff, float64(b)/0xffff
		luma[i] = 0.299*red + 0.587*green + 0.114*blue
		brightness += luma[i] * share
		colours[colourName(red, green, blue)] += share
		if i%across > 0 {
			edges += math.Abs(luma[i]-luma[i-1]) * share
		}
	}
	for _, v := range luma {
		contrast += (v - brightness) * (v - brightness) * share
	}
	contrast = 2 * math.Sqrt(contrast)
	add := func(word string, holds bool) {
		if holds {
			words = append(words, word)
		}
	}
	add("dark", brightness < 0.25)
	add("bright", brightness > 0.65)
	add("plain blank", contrast < 0.05)
	add("contrast", contrast > 0.6)
	add("detailed", edges > 0.12)
	for _, colour := range colourNames {
		add(colour, colours[colour] >= present)
		add(colour, colours[colour] >= dominant) // twice counts more
	}
	hued := 1 - colours["white"] - colours["gray"] - colours["black"]
	add("colorful", hued > 0.5)
	add("grayscale monochrome", hued < 0.02)
	return words
}

// colourName returns the everyday name of a colour.
func colourName(r, g, b float64) string {
	high, low := max(r, g, b), min(r, g, b)
	chroma := high - low
	switch {
	case high < 0.18:
		return "black"
	case chroma < 0.12 && low > 0.85:
		return "white"
	case chroma < 0.12:
		return "gray"
	}
	hue := map[float64]float64{b: 4 + (r-g)/chroma, g: 2 + (b-r)/chroma, r: (g - b) / chroma}[high]
	switch hue = math.Mod(hue*60+360, 360); {
	case (hue < 15 || hue >= 345) && low > 0.55:
		return "pink"
	case hue >= 15 && hue < 45 && high < 0.65:
		return "brown"
	}
	for _, band := range []struct {
		below float64
		name  string
	}{{15, "red"}, {45, "orange"}, {70, "yellow"}, {165, "green"}, {195, "cyan"}, {255, "blue"}, {300, "purple"}, {345, "pink"}} {
		if hue < band.below {
			return band.name
		}
	}
	return "red"
}
