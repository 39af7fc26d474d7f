package builtin

import (
	"bytes"
	"image"
	"image/color"
	_ "image/jpeg" // what the interface takes
	_ "image/png"
	"strconv"
	"strings"
	"sync"

	_ "golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/model"
)

// describe puts what can be measured in an image into words: its shape, brightness and
// colours. Of one that is broken or too large it is the shape alone.
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
	const side, plain, dominant, present = 48, 0.97, 0.5, 0.15
	bounds, colours, brightness := m.Bounds(), map[string]float64{}, 0.0
	near, names := palette()
	across, down := min(bounds.Dx(), side), min(bounds.Dy(), side)
	share := 1 / float64(across*down)
	for i := range across * down {
		at := m.At(bounds.Min.X+i%across*bounds.Dx()/across, bounds.Min.Y+i/across*bounds.Dy()/down)
		brightness += float64(color.Gray16Model.Convert(at).(color.Gray16).Y) / 0xffff * share
		colours[names[near.Index(at)]] += share
	}
	add := func(word string, holds bool) {
		if holds {
			words = append(words, word)
		}
	}
	add("dark", brightness < 0.25)
	add("bright", brightness > 0.65)
	for _, share := range colours {
		add("plain blank", share >= plain)
	}
	for _, colour := range colourNames {
		add(colour, colours[colour] >= present)
		add(colour, colours[colour] >= dominant) // twice counts more
	}
	hued := 1 - colours["white"] - colours["gray"] - colours["black"]
	add("colorful", hued > 0.5)
	add("grayscale monochrome", hued < 0.02)
	return words
}

// palette are colours and their everyday names, of which each has several.
var palette = sync.OnceValues(func() (all color.Palette, names []string) {
	for _, name := range colourNames {
		for _, text := range lists()["colour "+name] {
			rgb, _ := strconv.ParseUint(text, 16, 32) // a number of words.txt
			all, names = append(all, color.RGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 255}), append(names, name)
		}
	}
	return all, names
})
