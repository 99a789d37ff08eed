package picture

import (
	"image"
	"image/draw"

	scaler "golang.org/x/image/draw"
)

// shrink scales the picture to a longer side of at most side pixels; a smaller picture keeps its size. CatmullRom needs
// 32 bytes per pixel between its two passes, so ApproxBiLinear first reduces much larger pictures.
func shrink(img image.Image, side int) *image.RGBA {
	b := img.Bounds()
	if double := 2 * side; b.Dx() > double || b.Dy() > double {
		img = scaled(scaler.ApproxBiLinear, img, double)
	}
	if b := img.Bounds(); b.Dx() > side || b.Dy() > side {
		return scaled(scaler.CatmullRom, img, side)
	}
	out := image.NewRGBA(image.Rect(0, 0, img.Bounds().Dx(), img.Bounds().Dy()))
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
	return out
}

func scaled(s scaler.Scaler, img image.Image, side int) *image.RGBA {
	b := img.Bounds()
	longer := max(b.Dx(), b.Dy())
	w, h := max(1, b.Dx()*side/longer), max(1, b.Dy()*side/longer)
	out := image.NewRGBA(image.Rect(0, 0, w, h))
	s.Scale(out, out.Rect, img, b, scaler.Src, nil)
	return out
}

// transform is the EXIF orientation: how a picture must be rotated and mirrored to be upright.
type transform int

const upright transform = 1

// transformOf converts an EXIF value; invalid values count as upright.
func transformOf(n uint16) transform {
	if n < 1 || n > 8 {
		return upright
	}
	return transform(n)
}

// apply rotates and mirrors a picture that is already scaled down.
func (t transform) apply(img *image.RGBA) *image.RGBA {
	if t <= upright {
		return img
	}
	w, h := img.Rect.Dx(), img.Rect.Dy()
	size := image.Rect(0, 0, w, h)
	if t >= 5 { // lies on its side
		size = image.Rect(0, 0, h, w)
	}
	out := image.NewRGBA(size)
	for y := range h {
		for x := range w {
			to := out.PixOffset(t.target(x, y, w, h))
			from := img.PixOffset(x, y)
			copy(out.Pix[to:to+4], img.Pix[from:from+4])
		}
	}
	return out
}

// target returns the new position of the pixel at (x, y).
func (t transform) target(x, y, w, h int) (int, int) {
	switch t {
	case 2: // mirrored
		return w - 1 - x, y
	case 3: // upside down
		return w - 1 - x, h - 1 - y
	case 4: // mirrored, upside down
		return x, h - 1 - y
	case 5: // mirrored, on its side
		return y, x
	case 6: // on its left side
		return h - 1 - y, x
	case 7: // mirrored, on its other side
		return h - 1 - y, w - 1 - x
	default: // 8, on its right side
		return y, w - 1 - x
	}
}
