package decisions

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// webpBase64 is a lossless picture of 3 by 2 pixels.
const webpBase64 = "UklGRhoAAABXRUJQVlA4TA0AAAAvAkAAAAcQEf0PRET/Aw=="

func pngBytes(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func jpegBytes(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, width, height)), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sized returns a readable picture of exactly size bytes.
func sized(t testing.TB, size int) string {
	t.Helper()
	data := pngBytes(t, 3, 2)
	return encode(append(data, make([]byte, size-len(data))...))
}

func encode(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// parsePictures returns the images of a request.
func parsePictures(given []Image) ([]model.Image, error) { return new(pictures).parse("images", given) }

func TestParseImages(t *testing.T) {
	is := is.New(t)
	webpData, err := base64.StdEncoding.DecodeString(webpBase64)
	is.NoErr(err)
	images, err := parsePictures([]Image{
		{"image/png", encode(pngBytes(t, 3, 2))},
		{"image/jpeg", encode(jpegBytes(t, 2000, 20))},
		{"image/webp", webpBase64},
	})
	is.NoErr(err)
	is.Equal(images, []model.Image{
		{MediaType: "image/png", Data: pngBytes(t, 3, 2), Width: 3, Height: 2},
		{MediaType: "image/jpeg", Data: jpegBytes(t, 2000, 20), Width: 2000, Height: 20},
		{MediaType: "image/webp", Data: webpData, Width: 3, Height: 2},
	})
}

func TestParseImagesAtTheLimits(t *testing.T) {
	is := is.New(t)
	half := Image{"image/png", sized(t, MaxImageSize)}
	_, err := parsePictures([]Image{half, half})
	is.NoErr(err)
	_, err = parsePictures([]Image{half, {"image/png", sized(t, MaxImageSize-100)}, {"image/png", sized(t, 100)}})
	is.NoErr(err)
	small := Image{"image/png", sized(t, 100)}
	_, err = parsePictures(slices.Repeat([]Image{small}, MaxImages))
	is.NoErr(err)
}

func TestParseImagesRefuses(t *testing.T) {
	good := Image{"image/png", encode(pngBytes(t, 3, 2))}
	half := Image{"image/png", sized(t, MaxImageSize)}
	flat := jpegBytes(t, 3, 2)
	height := bytes.Index(flat, []byte{0xff, 0xc0}) + 5 // in the frame header: its marker, length and precision come first
	flat[height], flat[height+1] = 0, 0
	for _, c := range []struct {
		name    string
		images  []Image
		path    string
		message string
	}{
		{"no type", []Image{{"", good.Base64}}, "images/0", "images/0: must have required property 'mediaType'"},
		{"other type", []Image{{"image/gif", good.Base64}}, "images/0", "images/0: mediaType must be one of image/png, image/jpeg, image/webp"},
		{"no bytes", []Image{good, {"image/png", ""}}, "images/1", "images/1: must have required property 'base64'"},
		{"data URL", []Image{{"image/png", "data:image/png;base64," + good.Base64}}, "images/0", "images/0: base64 must be the bytes alone, without a data: prefix"},
		{"URL", []Image{{"image/png", "https://example.com/a.png"}}, "images/0", "images/0: base64 must be the bytes of the image, not a URL"},
		{"two lines", []Image{{"image/png", good.Base64[:8] + "\n" + good.Base64[8:]}}, "images/0", "images/0: base64 must be one line"},
		{"old line end", []Image{{"image/png", good.Base64[:8] + "\r" + good.Base64[8:]}}, "images/0", "images/0: base64 must be one line"},
		{"line end", []Image{{"image/png", good.Base64 + "\r\n"}}, "images/0", "images/0: base64 must be one line"},
		{"not base64", []Image{{"image/png", "äöü="}}, "images/0", "images/0: base64 cannot be decoded"},
		{"cut base64", []Image{{"image/png", good.Base64[:9]}}, "images/0", "images/0: base64 cannot be decoded"},
		{"another format", []Image{{"image/png", encode(jpegBytes(t, 3, 2))}}, "images/0", "images/0: the bytes do not match the mediaType image/png"},
		{"webp that is not", []Image{{"image/webp", good.Base64}}, "images/0", "images/0: the bytes do not match the mediaType image/webp"},
		{"text", []Image{{"image/jpeg", encode([]byte("hello"))}}, "images/0", "images/0: the bytes do not match the mediaType image/jpeg"},
		{"magic alone", []Image{{"image/png", encode(pngBytes(t, 3, 2)[:9])}}, "images/0", "images/0: the bytes are not a readable image/png"},
		{"no height", []Image{{"image/jpeg", encode(flat)}}, "images/0", "images/0: the bytes are not a readable image/jpeg"},
		{"one byte too many", []Image{{"image/png", sized(t, MaxImageSize+1)}}, "images/0", "images/0: the image must have at most 4194304 bytes, has 4194305"},
		{"too many bytes together", []Image{half, {"image/png", sized(t, MaxImageSize-99)}, {"image/png", sized(t, 100)}}, "images/2", "images/2: the images must have at most 8388608 bytes in total"},
		{"five images", slices.Repeat([]Image{good}, 5), "images/4", "images/4: there may be at most 4 images"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parsePictures(c.images)
			want := fault.Error{Kind: fault.Invalid, Code: fault.CodeValidation, Param: c.path, Message: c.message}
			if err == nil || *fault.From(err) != want {
				t.Errorf("got  %+v\nwant %+v", err, want)
			}
		})
	}
}

func FuzzParseImage(f *testing.F) {
	f.Add("image/png", encode(pngBytes(f, 3, 2)))
	f.Add("image/jpeg", encode(jpegBytes(f, 3, 2)))
	f.Add("image/webp", webpBase64)
	f.Add("image/png", "data:image/png;base64,AAAA")
	f.Add("image/png", "AAAA\nAAA=")
	f.Fuzz(func(t *testing.T, mediaType, text string) {
		img, err := parseImage("images/0", Image{mediaType, text})
		if err != nil {
			e := fault.From(err)
			if e.Kind != fault.Invalid || e.Param != "images/0" || !strings.HasPrefix(e.Message, "images/0: ") {
				t.Fatalf("%+v", e)
			}
			return
		}
		if encode(img.Data) != text && base64.StdEncoding.DecodedLen(len(text)) < len(img.Data) {
			t.Fatalf("%d bytes from %d characters", len(img.Data), len(text))
		}
		if tokens := img.Tokens(); img.Width < 1 || img.Height < 1 || tokens < 64 || tokens > 256 {
			t.Fatalf("%d by %d pixels cost %d tokens", img.Width, img.Height, tokens)
		}
	})
}
