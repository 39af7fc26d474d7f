package decisions

import (
	"encoding/base64"
	"strconv"
	"strings"

	"github.com/seed-506d8e5d/svc/internal/images"
	"github.com/seed-506d8e5d/svc/model"
)

// pictures are the images of a request, to which the limits apply together.
type pictures struct{ count, size int }

// parse returns the images of the list at a path.
func (p *pictures) parse(list string, given []Image) ([]model.Image, error) {
	if p.count+len(given) > MaxImages {
		return nil, invalid(list+"/"+strconv.Itoa(MaxImages-p.count), "there may be at most %d images", MaxImages)
	}
	p.count += len(given)
	read := make([]model.Image, len(given))
	for i, g := range given {
		path := list + "/" + strconv.Itoa(i)
		img, err := parseImage(path, g)
		if err != nil {
			return nil, err
		}
		if p.size += len(img.Data); p.size > MaxImagesSize {
			return nil, invalid(path, "the images must have at most %d bytes in total", MaxImagesSize)
		}
		read[i] = img
	}
	return read, nil
}

func parseImage(path string, given Image) (model.Image, error) {
	if !images.Known(given.MediaType) {
		if given.MediaType == "" {
			return model.Image{}, invalid(path, "must have required property 'mediaType'")
		}
		return model.Image{}, invalid(path, "mediaType must be one of image/png, image/jpeg, image/webp")
	}
	data, err := decodeBase64(path, given.Base64)
	if err != nil {
		return model.Image{}, err
	}
	img, err := images.Read(given.MediaType, data)
	if err != nil {
		return model.Image{}, invalid(path, "%s", err)
	}
	return img, nil
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
