package picture

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// redBlue returns a picture with a red left half and a blue right half. alpha is the alpha value of the left half.
func redBlue(w, h int, alpha uint8) *image.NRGBA {
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			c := color.NRGBA{0, 0, 255, 255}
			if x < w/2 {
				c = color.NRGBA{255, 0, 0, alpha}
			}
			img.SetNRGBA(x, y, c)
		}
	}
	return img
}

func asPNG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	kit.Must(t, png.Encode(&b, img))
	return b.Bytes()
}

func asJPEG(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	kit.Must(t, jpeg.Encode(&b, img, nil))
	return b.Bytes()
}

// withExif inserts a segment with camera orientation and location after the first marker.
func withExif(file []byte, orientation uint16) []byte {
	tiff := []byte("MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00")
	binary.BigEndian.PutUint16(tiff[18:], orientation)
	content := append(append([]byte("Exif\x00\x00"), tiff...), "GPS 39.9042 N 116.4074 E"...)
	head := []byte{0xff, 0xe1, 0, 0}
	binary.BigEndian.PutUint16(head[2:], uint16(len(content)+2))
	return bytes.Join([][]byte{file[:2], head, content, file[2:]}, nil)
}

// pngWithSize returns a complete PNG whose header has another size, with a correct checksum.
func pngWithSize(t testing.TB, w, h uint32) []byte {
	t.Helper()
	file := bytes.Clone(asPNG(t, redBlue(2, 2, 255)))
	binary.BigEndian.PutUint32(file[16:], w)
	binary.BigEndian.PutUint32(file[20:], h)
	binary.BigEndian.PutUint32(file[29:], crc32.ChecksumIEEE(file[12:29]))
	return file
}

func fromBase64(t testing.TB, text string) []byte {
	t.Helper()
	file, err := base64.StdEncoding.DecodeString(text)
	kit.Must(t, err)
	return file
}

const (
	webpLossy    = "UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA"
	webpLossless = "UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA=="
)

// Every accepted format becomes a valid result: upright, bounded, in one of two formats, and without other data than
// pixels.
func TestMakeConvertsEveryFormat(t *testing.T) {
	t.Parallel()
	photo := asJPEG(t, redBlue(1000, 500, 255))
	for name, c := range map[string]struct {
		file          []byte
		kind          store.ImageKind
		width, height int
	}{
		"photo":           {photo, store.ImageJPEG, 1000, 500},
		"large photo":     {asJPEG(t, redBlue(3200, 400, 255)), store.ImageJPEG, 1600, 200},
		"very narrow":     {asPNG(t, redBlue(4000, 2, 255)), store.ImageJPEG, 1600, 1},
		"opaque PNG":      {asPNG(t, redBlue(40, 20, 255)), store.ImageJPEG, 40, 20},
		"transparent PNG": {asPNG(t, redBlue(40, 20, 0)), store.ImagePNG, 40, 20},
		"one pixel":       {asPNG(t, redBlue(1, 1, 255)), store.ImageJPEG, 1, 1},
		"lossy WebP":      {fromBase64(t, webpLossy), store.ImageJPEG, 1, 1},
		"lossless WebP":   {fromBase64(t, webpLossless), store.ImagePNG, 1, 1},
		"rotated photo":   {withExif(photo, 6), store.ImageJPEG, 500, 1000},
		"a second file": {
			append(bytes.Clone(photo), "PK\x03\x04 <script>alert(1)</script>"...), store.ImageJPEG,
			1000, 500,
		},
	} {
		m := NewMaker()
		got, err := m.Make(t.Context(), c.file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		large, kind, err := image.Decode(bytes.NewReader(got.Large))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		small, _, err := image.Decode(bytes.NewReader(got.Small))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b := large.Bounds(); got.Kind != c.kind || got.Width != c.width || got.Height != c.height ||
			b.Dx() != c.width ||
			b.Dy() != c.height || strings.TrimSuffix(kind, "eg") != strings.TrimSuffix(string(c.kind), "g") &&
			kind != "png" {
			t.Errorf("%s: got %s %d × %d (%s %v), want %s %d × %d", name, got.Kind, got.Width, got.Height, kind, b,
				c.kind, c.width, c.height)
		}
		if b := small.Bounds(); b.Dx() > smallSide || b.Dy() > smallSide {
			t.Errorf("%s: the small picture has %v, want at most %d per side", name, b, smallSide)
		}
		for _, removed := range []string{"Exif", "GPS", "script", "PK\x03\x04"} {
			if bytes.Contains(got.Large, []byte(removed)) || bytes.Contains(got.Small, []byte(removed)) {
				t.Errorf("%s: the result contains %q", name, removed)
			}
		}
		again, err := m.Make(t.Context(), c.file)
		if err != nil || again.ID != got.ID || len(got.ID) != 64 {
			t.Errorf("%s: got ids %s and %s, %v, want the same id twice", name, got.ID, again.ID, err)
		}
	}
}

// A picture is rotated and mirrored according to EXIF: the red half is where a viewer would show it.
func TestOrientationFollowsEXIF(t *testing.T) {
	t.Parallel()
	file := asJPEG(t, redBlue(64, 32, 255))
	for orientation, red := range map[uint16]image.Point{
		1: {16, 16}, 2: {48, 16}, 3: {48, 16}, 4: {16, 16}, 5: {16, 16}, 6: {16, 16}, 7: {16, 48}, 8: {16, 48},
		0: {16, 16}, 9: {16, 16}, 65535: {16, 16},
	} {
		got, err := NewMaker().Make(t.Context(), withExif(file, orientation))
		kit.Must(t, err)
		img, err := jpeg.Decode(bytes.NewReader(got.Large))
		kit.Must(t, err)
		if r, _, b, _ := img.At(red.X, red.Y).RGBA(); r < 0x8000 || b > 0x8000 {
			t.Errorf("orientation %d: at %v got red %x and blue %x, want red", orientation, red, r, b)
		}
		if sideways := orientation >= 5 && orientation <= 8; sideways != (got.Height > got.Width) {
			t.Errorf("orientation %d: got %d × %d pixels, want sides swapped only from 5 to 8", orientation, got.Width, got.Height)
		}
	}
}

// A file with a wrong type, damage or gigapixels is rejected with a reason before decoding: the files with such sizes
// have only a few bytes of pixels.
func TestInvalidFilesAreRejected(t *testing.T) {
	t.Parallel()
	var animated bytes.Buffer
	kit.Must(t, gif.Encode(&animated, redBlue(2, 2, 255), nil))
	photo := asJPEG(t, redBlue(64, 64, 255))
	hugeWebP := fromBase64(t, webpLossy)
	binary.LittleEndian.PutUint16(hugeWebP[26:], 16383)
	binary.LittleEndian.PutUint16(hugeWebP[28:], 16383)
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty file": {nil, "not a JPEG, PNG or WebP"},
		"GIF":        {animated.Bytes(), "not a JPEG, PNG or WebP"},
		"SVG": {
			[]byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`),
			"not a JPEG, PNG or WebP",
		},
		"HTML page":             {[]byte("<html><script>alert(1)</script>"), "not a JPEG, PNG or WebP"},
		"first bytes of a JPEG": {[]byte("\xff\xd8\xff\xe0"), "header cannot be read"},
		"half a JPEG":           {photo[:len(photo)-20], "ends too early"},
		"half a PNG":            {asPNG(t, redBlue(64, 64, 255))[:60], "ends too early"},
		"gigapixels":            {pngWithSize(t, 50_000, 50_000), "at most 8000 per side"},
		"a long line":           {pngWithSize(t, 8001, 1), "at most 8000 per side"},
		"too many pixels":       {pngWithSize(t, 8000, 8000), "at most 40 million"},
		"missing pixels":        {pngWithSize(t, 4000, 4000), "ends too early"},
		"a negative size":       {pngWithSize(t, 1<<31, 1), "header cannot be read"},
		"WebP of gigapixels":    {hugeWebP, "at most 8000 per side"},
		"a WebP head alone":     {[]byte("RIFF\x04\x00\x00\x00WEBP"), "header cannot be read"},
	} {
		_, err := NewMaker().Make(t.Context(), c.file)
		if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// jpegWithEmptyScans returns a small gray progressive JPEG with n empty scans. Stray bytes precede each scan, as
// decoders accept. In the Huffman table the bit 0 means a run of 16,384 empty blocks.
func jpegWithEmptyScans(n int, side uint16) []byte {
	head := []byte("\xff\xd8\xff\xc2\x00\x0b\x08hhww\x01\x01\x11\x00" +
		"\xff\xc4\x00\x14\x10\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\xe0")
	binary.BigEndian.PutUint16(head[7:], side)
	binary.BigEndian.PutUint16(head[9:], side)
	scan := append([]byte("stray\xff\x00\xff\xff\xda\x00\x08\x01\x01\x00\x01\x3f\x00"), make([]byte, 45)...)
	return append(append(head, bytes.Repeat(scan, n)...), "\xff\xd9"...)
}

// A small file that makes the decoder visit a large picture many times is rejected before decoding. A decoder that
// nevertheless takes too long ends, for every format, and the error names the picture as the cause.
func TestDecodingWorkIsBounded(t *testing.T) {
	t.Parallel()
	_, err := NewMaker().Make(t.Context(), jpegWithEmptyScans(1000, 5000))
	if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) || !strings.Contains(err.Error(), "1000 scans: at most 64") {
		t.Errorf("1000 scans: got %v, want a rejection", err)
	}
	if _, err := NewMaker().Make(t.Context(), jpegWithEmptyScans(maxScans, 500)); err != nil {
		t.Errorf("%d scans: got %v, want no error", maxScans, err)
	}
	for name, file := range map[string][]byte{
		"JPEG": asJPEG(t, redBlue(64, 64, 255)), "PNG": asPNG(t, redBlue(64, 64, 255)),
		"lossy WebP": fromBase64(t, webpLossy), "lossless WebP": fromBase64(t, webpLossless),
	} {
		m := NewMaker()
		m.timeout = -1
		_, err := m.Make(t.Context(), file)
		if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) || !strings.Contains(err.Error(), "too long to decode") {
			t.Errorf("%s that takes too long: got %v, want a rejection", name, err)
		}
	}
}

// Formats with more memory per pixel may have fewer pixels.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	deep := pngWithSize(t, 8000, 5000)
	if _, err := inspect(deep); err != nil {
		t.Errorf("40 million pixels of 8 bits: got %v, want no error", err)
	}
	deep[24] = 16
	binary.BigEndian.PutUint32(deep[29:], crc32.ChecksumIEEE(deep[12:29]))
	if _, err := inspect(deep); err != nil {
		t.Errorf("40 million pixels of 16 bits: got %v, want no error", err)
	}
	photo := asJPEG(t, redBlue(64, 64, 255))
	frame := bytes.Index(photo, []byte{0xff, 0xc0})
	withSize := func(marker byte, w, h uint16) []byte {
		file := bytes.Clone(photo)
		file[frame+1] = marker
		binary.BigEndian.PutUint16(file[frame+5:], h)
		binary.BigEndian.PutUint16(file[frame+7:], w)
		return file
	}
	if s, err := inspect(withSize(0xc0, 8000, 5000)); err != nil || s.width != 8000 || s.height != 5000 {
		t.Errorf("40 million pixels of baseline JPEG: got %+v, %v, want no error", s, err)
	}
	if _, err := inspect(withSize(0xc2, 8000, 5000)); err == nil || !strings.Contains(err.Error(), "progressive") {
		t.Errorf("40 million pixels of progressive JPEG: got %v, want a rejection", err)
	}
	if _, err := inspect(withSize(0xc2, 5000, 5000)); err != nil {
		t.Errorf("25 million pixels of progressive JPEG: got %v, want no error", err)
	}
}

// One picture is converted at a time; a caller whose wait ends gets busy with a retry time.
func TestPicturesAreConvertedOneAtATime(t *testing.T) {
	t.Parallel()
	m := NewMaker()
	m.slot <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := m.Make(ctx, asPNG(t, redBlue(2, 2, 255))); !errors.Is(err, &shop.Error{Code: shop.Busy}) {
		t.Errorf("during another conversion: got %v, want busy", err)
	}
	<-m.slot
	if _, err := m.Make(t.Context(), asPNG(t, redBlue(2, 2, 255))); err != nil {
		t.Error(err)
	}
}

// An upload is either rejected as invalid or becomes a picture within all limits. There is no panic.
func FuzzMake(f *testing.F) {
	photo := asJPEG(f, redBlue(16, 8, 255))
	for _, file := range [][]byte{
		photo, withExif(photo, 6), asPNG(f, redBlue(4, 4, 0)), fromBase64(f, webpLossy), fromBase64(f, webpLossless),
		pngWithSize(f, 200, 100), photo[:40], []byte("GIF89a"),
	} {
		f.Add(file)
	}
	m := NewMaker()
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := inspect(file); err == nil && s.width*s.height > 1<<16 {
			t.Skip("decoding it would take the fuzzer's time")
		}
		got, err := m.Make(t.Context(), file)
		if err != nil {
			if !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
				t.Fatal(err)
			}
			return
		}
		c, _, err := image.DecodeConfig(bytes.NewReader(got.Large))
		if err != nil || c.Width != got.Width || c.Height != got.Height || max(c.Width, c.Height) > largeSide ||
			len(got.Large) > maxServed {
			t.Fatalf("got %d × %d pixels, %d bytes, %v, want a picture within the limits", c.Width, c.Height, len(got.Large), err)
		}
		if formatOf(got.Large) == nil || formatOf(got.Small) == nil {
			t.Fatal("the result is not a picture")
		}
	})
}
