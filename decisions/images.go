package decisions

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"strconv"
	"strings"

	"golang.org/x/image/webp"

	"github.com/seed-506d8e5d/svc/model"
)

// format is a picture format that the interface takes.
type format struct {
	mediaType string
	magic     func(data []byte) bool
	config    func(io.Reader) (image.Config, error)
}

// formatOf returns the format with a media type.
func formatOf(mediaType string) (format, bool) {
	switch mediaType {
	case "image/png":
		return format{mediaType, isPNG, png.DecodeConfig}, true
	case "image/jpeg":
		return format{mediaType, isJPEG, jpeg.DecodeConfig}, true
	case "image/webp":
		return format{mediaType, isWebP, webp.DecodeConfig}, true
	}
	return format{}, false
}

func isPNG(data []byte) bool  { return bytes.HasPrefix(data, []byte("\x89PNG\r\n\x1a\n")) }
func isJPEG(data []byte) bool { return bytes.HasPrefix(data, []byte("\xff\xd8\xff")) }
func isWebP(data []byte) bool {
	return len(data) >= 12 && string(data[:4]) == "RIFF" && string(data[8:12]) == "WEBP"
}

// pictures are the images of a request, to which the limits apply together.
type pictures struct{ count, size int }

// parse returns the images of the list at a path.
func (p *pictures) parse(list string, given []Image) ([]model.Image, error) {
	if p.count+len(given) > MaxImages {
		return nil, invalid(list+"/"+strconv.Itoa(MaxImages-p.count), "there may be at most %d images", MaxImages)
	}
	p.count += len(given)
	images := make([]model.Image, len(given))
	for i, g := range given {
		path := list + "/" + strconv.Itoa(i)
		img, err := parseImage(path, g)
		if err != nil {
			return nil, err
		}
		if p.size += len(img.Data); p.size > MaxImagesSize {
			return nil, invalid(path, "the images must have at most %d bytes in total", MaxImagesSize)
		}
		images[i] = img
	}
	return images, nil
}

func parseImage(path string, given Image) (model.Image, error) {
	f, ok := formatOf(given.MediaType)
	if !ok {
		if given.MediaType == "" {
			return model.Image{}, invalid(path, "must have required property 'mediaType'")
		}
		return model.Image{}, invalid(path, "mediaType must be one of image/png, image/jpeg, image/webp")
	}
	data, err := decodeBase64(path, given.Base64)
	if err != nil {
		return model.Image{}, err
	}
	if !f.magic(data) {
		return model.Image{}, invalid(path, "the bytes do not match the mediaType %s", f.mediaType)
	}
	config, err := f.config(bytes.NewReader(data))
	if err != nil || config.Width < 1 || config.Height < 1 {
		return model.Image{}, invalid(path, "the bytes are not a readable %s", f.mediaType)
	}
	return model.Image{MediaType: f.mediaType, Data: data, Width: config.Width, Height: config.Height}, nil
}

// decodeBase64 decodes the bytes of the image at path. Sizes are checked before
// anything is allocated.
func decodeBase64(path, text string) ([]byte, error) {
	if text == "" {
		return nil, invalid(path, "must have required property 'base64'")
	}
	scheme, _, found := strings.Cut(text[:min(len(text), 16)], ":")
	switch {
	case found && strings.EqualFold(scheme, "data"):
		return nil, invalid(path, "base64 must be the bytes alone, without a data: prefix")
	case found:
		return nil, invalid(path, "base64 must be the bytes of the image, not a URL")
	case strings.ContainsAny(text, "\r\n"):
		return nil, invalid(path, "base64 must be one line")
	}
	size := base64.StdEncoding.DecodedLen(len(text)) - strings.Count(text[max(0, len(text)-2):], "=")
	if size > MaxImageSize {
		return nil, invalid(path, "the image must have at most %d bytes, has %d", MaxImageSize, size)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, invalid(path, "base64 cannot be decoded")
	}
	return data, nil
}
