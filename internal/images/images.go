// Package images says what a picture is: of which format, and how large.
package images

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/fault"
	"github.com/seed-506d8e5d/svc/model"
)

// Limits of the images that a prompt has.
const (
	MaxCount  = 64
	MaxSize   = 8 << 20 // bytes of one
	maxPixels = 64 << 20
)

// format is a picture format that the interfaces take.
type format struct {
	magic  func(data []byte) bool
	config func(io.Reader) (image.Config, error)
}

var formats = map[string]format{
	"image/png":  {isPNG, png.DecodeConfig},
	"image/jpeg": {isJPEG, jpeg.DecodeConfig},
	"image/webp": {isWebP, webp.DecodeConfig},
}

func isPNG(data []byte) bool  { return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) }
func isJPEG(data []byte) bool { return bytes.HasPrefix(data, []byte("\xff\xd8\xff")) }
func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// Known reports whether pictures of a media type are taken.
func Known(mediaType string) bool { return formats[mediaType].magic != nil }

// Read returns a picture with its size in pixels, of which it reads no more than the
// beginning. The error says in a few words what is wrong with it.
func Read(mediaType string, data []byte) (model.Image, error) {
	f := formats[mediaType]
	if f.magic == nil {
		return model.Image{}, fmt.Errorf("the type %.64q is none of image/png, image/jpeg and image/webp", mediaType)
	}
	if !f.magic(data) {
		return model.Image{}, fmt.Errorf("the bytes do not match the mediaType %s", mediaType)
	}
	config, err := f.config(bytes.NewReader(data))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return model.Image{}, fmt.Errorf("the bytes are not a readable %s", mediaType)
	}
	return model.Image{MediaType: mediaType, Data: data, Width: config.Width, Height: config.Height}, nil
}

// Prompt reads the images of one prompt, to which the limits apply together. The zero
// value has read none.
type Prompt struct{ count int }

// Read is [Read] within the limits of a prompt. The error is Invalid, about no field
// yet.
func (p *Prompt) Read(mediaType string, data []byte) (model.Image, error) {
	if p.count++; p.count > MaxCount {
		return model.Image{}, invalid("there may be at most %d images in a prompt", MaxCount)
	}
	if len(data) > MaxSize {
		return model.Image{}, invalid("an image may have at most %d bytes, and this one has %d", MaxSize, len(data))
	}
	image, err := Read(mediaType, data)
	if err != nil {
		return model.Image{}, invalid("%w", err)
	}
	if image.Width > maxPixels/image.Height {
		return model.Image{}, invalid("an image may have at most %d pixels, and this one is %d by %d", maxPixels, image.Width, image.Height)
	}
	return image, nil
}

func invalid(text string, args ...any) error {
	return &fault.Error{Kind: fault.Invalid, Code: fault.CodeInvalidImage, Message: "The image cannot be taken: " + fmt.Errorf(text, args...).Error() + "."}
}
