package picture

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"io"

	"golang.org/x/image/webp"
)

// source describes a file before it is decoded.
type source struct {
	format        *format
	width, height int
	transform     transform // makes it upright
}

// format is an accepted file format.
type format struct {
	config func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
	// cost returns the maximum number of bytes per pixel during decoding.
	cost func(file []byte, model color.Model) int64
}

var (
	jpegFormat = &format{jpeg.DecodeConfig, jpeg.Decode, jpegCost}
	pngFormat  = &format{png.DecodeConfig, png.Decode, pngCost}
	webpFormat = &format{webp.DecodeConfig, webp.Decode, webpCost}
)

// formatOf detects the format from the first bytes alone; nil: not accepted.
func formatOf(file []byte) *format {
	switch {
	case bytes.HasPrefix(file, []byte("\xff\xd8\xff")):
		return jpegFormat
	case bytes.HasPrefix(file, []byte("\x89PNG\r\n\x1a\n")):
		return pngFormat
	case len(file) >= 12 && string(file[:4]) == "RIFF" && string(file[8:12]) == "WEBP":
		return webpFormat
	}
	return nil
}

// inspect reads the header of a file and rejects files that are not pictures or are too large, before a pixel is
// decoded.
func inspect(file []byte) (*source, error) {
	f := formatOf(file)
	if f == nil {
		return nil, errRejected("it is not a JPEG, PNG or WebP file")
	}
	c, err := f.config(bytes.NewReader(file))
	switch {
	case err != nil:
		return nil, errRejected("its header cannot be read, or its format is not supported")
	case c.Width < 1 || c.Height < 1:
		return nil, errRejected("it has no pixels")
	case c.Width > maxSide || c.Height > maxSide:
		return nil, errRejected(fmt.Sprintf("it has %d × %d pixels: at most %d per side are allowed", c.Width, c.Height,
			maxSide))
	}
	pixels := int64(c.Width) * int64(c.Height)
	if pixels > maxPixels {
		return nil, errRejected(fmt.Sprintf("it has %d × %d pixels: at most %d million are allowed", c.Width, c.Height,
			maxPixels/1_000_000))
	}
	if cost := f.cost(file, c.ColorModel); pixels*cost > maxMemory {
		return nil, errRejected(fmt.Sprintf("with %d × %d pixels it takes too much memory in this form (progressive, or 16 bits a "+
			"colour): save it as a baseline JPEG or with 8 bits, or smaller", c.Width, c.Height))
	}
	s := &source{format: f, width: c.Width, height: c.Height}
	if f == jpegFormat {
		if n := scans(file); n > maxScans {
			return nil, errRejected(fmt.Sprintf("it has %d scans: at most %d are allowed (save it as a baseline JPEG)",
				n, maxScans))
		}
		s.transform = orientation(file)
	}
	return s, nil
}

// jpegCost counts the planes, and for a progressive file all coefficients until its end, four bytes each.
func jpegCost(file []byte, model color.Model) int64 {
	planes := int64(3)
	if model == color.CMYKModel {
		planes = 4
	} else if model == color.GrayModel {
		planes = 1
	}
	if progressive(file) {
		return planes * 5
	}
	return planes * 2 // CMYK and RGB are copied once
}

func pngCost(_ []byte, model color.Model) int64 {
	switch model {
	case color.RGBA64Model, color.NRGBA64Model, color.Gray16Model:
		return 8
	}
	return 4
}

// webpCost returns 8: a lossless pixel takes four bytes. A lossy pixel takes at most four bytes for its planes and four
// for losslessly packed alpha.
func webpCost([]byte, color.Model) int64 { return 8 }
