package builtin

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/model"
)

var (
	red   = color.RGBA{R: 220, G: 20, B: 20, A: 255}
	navy  = color.RGBA{R: 10, G: 20, B: 120, A: 255}
	white = color.RGBA{R: 255, G: 255, B: 255, A: 255}
)

func pixels(width, height int, c color.Color) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for i := range width * height {
		m.Set(i%width, i/width, c)
	}
	return m
}

func picture(t testing.TB, width, height int, c color.Color) model.Image {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, pixels(width, height, c)); err != nil {
		t.Fatal(err)
	}
	return model.Image{MediaType: "image/png", Data: data.Bytes(), Width: width, Height: height}
}

func TestImagesAreDescribed(t *testing.T) {
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, pixels(64, 32, navy), nil); err != nil {
		t.Fatal(err)
	}
	// One white pixel, lossless.
	webpData, err := base64.StdEncoding.DecodeString("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name  string
		image model.Image
		want  string
	}{
		{"PNG", picture(t, 20, 60, red), "image portrait tall plain blank red red colorful."},
		{"JPEG", model.Image{MediaType: "image/jpeg", Data: photo.Bytes(), Width: 64, Height: 32}, "image landscape wide dark plain blank blue blue colorful."},
		{"WebP", model.Image{MediaType: "image/webp", Data: webpData, Width: 1, Height: 1}, "image square dark plain blank black black grayscale monochrome."},
		{"broken", model.Image{MediaType: "image/png", Data: []byte("no image"), Width: 9, Height: 9}, "image square."},
		{"empty", model.Image{}, "image square."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { is.New(t).Equal(describe(tt.image), tt.want) })
	}
}

func TestHugeImagesAreNotDecoded(t *testing.T) {
	is := is.New(t)
	const side = 4097 // one more than mostPixels allows
	var data bytes.Buffer
	is.NoErr(png.Encode(&data, image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{red, white})))
	is.True(decode(model.Image{MediaType: "image/png", Data: data.Bytes()}) == nil)
}

func TestEveryImageChangesTheEvidence(t *testing.T) {
	is := is.New(t)
	options := []string{"billing", "technical", "sales"}
	seen := map[string]bool{}
	for _, images := range [][]model.Image{
		nil,
		{picture(t, 4, 4, red)}, {picture(t, 4, 4, white)}, {picture(t, 5, 4, red)},
		{picture(t, 4, 4, red), picture(t, 4, 4, white)}, {{Data: []byte("x")}}, {{Data: []byte("y")}},
	} {
		req := decision("The invoice is wrong.", "Which?", options...)
		for _, img := range images {
			req.State = append(req.State, img)
		}
		p := score(t, req)
		key := strings.Trim(marshal([]any{p[0], p[1], p[2]}), "[]")
		is.True(!seen[key])
		seen[key] = true
		is.Equal(slices.Max(p), p[0])
	}
}

func TestColoursAnswer(t *testing.T) {
	is := is.New(t)
	req := decision("", "Which colour is the picture?", "red", "blue", "white")
	req.State = append(req.State, picture(t, 8, 8, red))
	is.True(score(t, req)[0] > 0.6)
	req = decision("", "Is the image dark?", "yes", "no")
	req.State = append(req.State, picture(t, 8, 8, navy))
	is.True(score(t, req)[0] > 0.6)
	req.State[1] = picture(t, 8, 8, white)
	is.True(score(t, req)[0] < 0.4)
}

func FuzzDescribeImage(f *testing.F) {
	f.Add("image/png", picture(f, 3, 3, red).Data)
	f.Add("image/jpeg", []byte("\xff\xd8\xff"))
	f.Add("image/webp", []byte("RIFF\x1a\x00\x00\x00WEBPVP8L"))
	f.Fuzz(func(t *testing.T, mediaType string, data []byte) {
		describe(model.Image{MediaType: mediaType, Data: data, Width: 1, Height: 1})
	})
}
