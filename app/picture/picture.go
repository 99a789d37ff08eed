package picture

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"time"

	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// maxSide and maxPixels limit the size of decoded pictures.
	maxSide   = 8000
	maxPixels = 40_000_000
	// maxMemory limits the memory for decoding, in bytes. The cost of a pixel depends on the format.
	maxMemory = 400 << 20
	// maxScans limits the scans of a JPEG. Encoders write at most 20; the decoder visits all blocks once per scan.
	maxScans = 64
	// decodeTimeout limits decoding. The largest accepted pictures take about 3 s on a slow processor.
	decodeTimeout = 10 * time.Second
	// largeSide and smallSide are the longer sides of the results, in pixels.
	largeSide = 1600
	smallSide = 400
	// maxServed limits the results, in bytes: PNG files with much detail can be larger, so they are scaled down until
	// they fit.
	maxServed = 4 << 20
	quality   = 85 // of JPEG
	busyRetry = 2 * time.Second
)

// Maker converts one picture at a time: a large one takes hundreds of megabytes and seconds of a processor.
type Maker struct {
	slot    chan struct{}
	timeout time.Duration // of decoding
}

// NewMaker returns a Maker that decodes a picture for at most decodeTimeout.
func NewMaker() *Maker { return &Maker{make(chan struct{}, 1), decodeTimeout} }

// Make converts a JPEG, PNG or WebP file. BadRequest: the file is invalid; the error has the reason. Busy: other
// conversions ran until ctx ended.
func (m *Maker) Make(ctx context.Context, file []byte) (store.StoredImage, error) {
	s, err := inspect(file)
	if err != nil {
		return store.StoredImage{}, err
	}
	select {
	case m.slot <- struct{}{}:
		defer func() { <-m.slot }()
	case <-ctx.Done():
		return store.StoredImage{}, shop.FailBusy("other pictures are being processed right now; try again", busyRetry)
	}
	return s.convert(&timedReader{bytes.NewReader(file), time.Now().Add(m.timeout)})
}

var errTimeout = errors.New("decoding takes too long")

// timedReader fails after a deadline. This ends the decoder that reads from it: an abandoned decoder would continue to
// use a processor and memory. It returns few bytes at a time, because a few hundred can cause seconds of work.
type timedReader struct {
	file     *bytes.Reader
	deadline time.Time
}

// Read returns at most 256 bytes.
func (r *timedReader) Read(p []byte) (int, error) {
	if time.Now().After(r.deadline) {
		return 0, errTimeout
	}
	return r.file.Read(p[:min(len(p), 256)])
}

func (s *source) convert(file io.Reader) (store.StoredImage, error) {
	decoded, err := s.format.decode(file)
	if errors.Is(err, errTimeout) {
		return store.StoredImage{}, errRejected("it takes too long to decode: save it as a baseline JPEG or reduce its size")
	}
	if err != nil {
		return store.StoredImage{}, errRejected("it ends too early or is damaged")
	}
	// The decoded size must equal the announced one: decoders are not trusted either.
	if b := decoded.Bounds(); b.Dx() != s.width || b.Dy() != s.height {
		return store.StoredImage{}, errRejected("its sizes are inconsistent")
	}
	large, err := s.encode(decoded, largeSide, "")
	if err != nil {
		return store.StoredImage{}, err
	}
	small, err := s.encode(decoded, smallSide, large.kind)
	if err != nil {
		return store.StoredImage{}, err
	}
	sum := sha256.Sum256(large.bytes)
	return store.StoredImage{
		ID: hex.EncodeToString(sum[:]), Kind: large.kind, Width: large.width, Height: large.height,
		Large: large.bytes, Small: small.bytes,
	}, nil
}

// encoded is a result file.
type encoded struct {
	kind          store.ImageKind
	width, height int
	bytes         []byte
}

// encode makes the picture upright, with a longer side of at most the given number of pixels, or fewer if the file
// would be too large. Without a given kind, a picture with transparent pixels becomes a PNG, any other a JPEG.
func (s *source) encode(decoded image.Image, side int, kind store.ImageKind) (encoded, error) {
	for ; ; side = side * 3 / 4 {
		img := s.transform.apply(shrink(decoded, side))
		if kind == "" {
			kind = kindOf(img)
		}
		var out bytes.Buffer
		var err error
		if kind == store.ImageJPEG {
			err = jpeg.Encode(&out, img, &jpeg.Options{Quality: quality})
		} else {
			err = png.Encode(&out, img)
		}
		if err != nil {
			return encoded{}, fmt.Errorf("encode a picture: %w", err)
		}
		if out.Len() <= maxServed {
			return encoded{kind, img.Rect.Dx(), img.Rect.Dy(), out.Bytes()}, nil
		}
	}
}

func kindOf(img *image.RGBA) store.ImageKind {
	if img.Opaque() {
		return store.ImageJPEG
	}
	return store.ImagePNG
}

func errRejected(reason string) error {
	return shop.Fail(shop.BadRequest, "the picture is not accepted: "+reason)
}
