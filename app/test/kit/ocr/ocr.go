// Package ocr reads captchas like an attacker: it separates the digits by colour, undoes the distortion of the library
// base64Captcha by trying its parameters, and compares with the font of the library (11 × 18 dots per digit). It has no
// goroutines and is compiled without the race detector, with which it takes three times as long
// (deploy/scripts/go-test.sh).
package ocr

import (
	_ "embed"
	"image"
	"image/color"
	"math"
	"math/bits"
	"strings"
)

const (
	captchaDigits = 6
	dotSize       = 2
	digitStep     = 26 // pixels from one digit to the next
	readerSkews   = 15
	maxSkew       = 0.7 // columns per row; the library draws skews from -maxSkew to maxSkew
	readerRows    = 18*dotSize + 2
	readerLeft    = 16 // pixels of a shape before its digit
)

//go:embed digits.txt
var fontText string

// shape is a set of pixels; bit 0 is readerLeft pixels before the digit.
type shape [readerRows]uint64

// common returns the number of pixels in both shapes.
func (s *shape) common(other *shape) (n int) {
	for i, row := range s {
		n += bits.OnesCount64(row & other[i])
	}
	return n
}

// digitShapes has the digits for each skew, digitSizes their pixels, and skewedArea the areas that they may cover.
var digitShapes, digitSizes, skewedArea = drawShapes(strings.Fields(fontText))

func drawShapes(font []string) (digits [readerSkews][10]shape, sizes [readerSkews][10]int, area [readerSkews]shape) {
	dot := func(s *shape, x, y int) {
		for _, d := range [][2]int{{0, 0}, {1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			s[y+d[1]] |= 1 << (x + d[0])
		}
	}
	for skew := range readerSkews {
		for y := range 18 {
			left := int(readerLeft + float64(y)*(2*maxSkew*float64(skew)/(readerSkews-1)-maxSkew))
			for x := range 11 {
				dot(&area[skew], left+x*dotSize, 1+y*dotSize)
				for d := range 10 {
					if font[d*18+y][x] == '#' {
						dot(&digits[skew][d], left+x*dotSize, 1+y*dotSize)
					}
				}
			}
		}
		for d := range sizes[skew] {
			sizes[skew][d] = digits[skew][d].common(&digits[skew][d])
		}
	}
	return digits, sizes, area
}

// inkOf returns the pixels whose colour is like the most frequent colour apart from the background.
func inkOf(m image.Image) (ink []image.Point) {
	counts := make(map[color.RGBA]int)
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(m.At(x, y)).(color.RGBA) }
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			counts[at(x, y)]++
		}
	}
	mostFrequent := func() (c color.RGBA) {
		for other, n := range counts {
			if n > counts[c] {
				c = other
			}
		}
		return c
	}
	background := mostFrequent()
	delete(counts, background)
	digit := mostFrequent()
	distance := func(a, b color.RGBA) int {
		r, g, b2 := int(a.R)-int(b.R), int(a.G)-int(b.G), int(a.B)-int(b.B)
		return r*r + g*g + b2*b2
	}
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			// Distances are squared: at most half as far from the colour of the digits as the background.
			if c := at(x, y); c != background && 4*distance(c, digit) <= distance(background, digit) {
				ink = append(ink, image.Pt(x, y))
			}
		}
	}
	return ink
}

// page is a straightened picture of 240 × 80 pixels, as bits.
type page [80][4]uint64

// straighten undoes the distortion of the library.
func straighten(ink []image.Point, amplitude, period float64) *page {
	var p page
	for _, q := range ink {
		x := q.X + int(amplitude*math.Sin(float64(q.Y)*2*math.Pi/period))
		y := q.Y + int(amplitude*math.Cos(float64(q.X)*2*math.Pi/period))
		if x >= 0 && x < 240 && y >= 0 && y < 80 {
			p[y][x/64] |= 1 << (x % 64)
		}
	}
	return &p
}

// row returns the 64 pixels of row y from column x on; pixels outside the page are 0.
func (p *page) row(x, y int) uint64 {
	if y < 0 || y >= len(p) || x >= 240 {
		return 0
	}
	if x < 0 {
		return p[y][0] << -x
	}
	pixels := p[y][x/64] >> (x % 64)
	if x/64 < 3 {
		pixels |= p[y][x/64+1] << (64 - x%64)
	}
	return pixels
}

// digit returns the digit at a place that fits best. It tries every skewStep-th skew.
func (p *page) digit(x, y, skewStep int) (best, score int) {
	var rows shape
	for i := range rows {
		rows[i] = p.row(x-readerLeft, y-1+i)
	}
	score = math.MinInt
	for skew := 0; skew < readerSkews; skew += skewStep {
		inArea := rows.common(&skewedArea[skew])
		for d := range digitShapes[skew] {
			// each common pixel counts 2, each missing and each other pixel of the area -1
			if n := 4*rows.common(&digitShapes[skew][d]) - digitSizes[skew][d] - inArea; n > score {
				best, score = d, n
			}
		}
	}
	return best, score
}

// text reads the digits; the first one is at (x, y).
func (p *page) text(x, y, skewStep int) (text string, score int) {
	for i := range captchaDigits {
		d, n := p.digit(x+i*digitStep, y, skewStep)
		if skewStep == 1 { // a digit may be one pixel higher
			if d2, n2 := p.digit(x+i*digitStep, y-1, 1); n2 > n {
				d, n = d2, n2
			}
		}
		text, score = text+string(rune('0'+d)), score+n
	}
	return text, score
}

// fit is a distortion and the place of the first digit.
type fit struct {
	amplitude, period float64
	x, y, score       int
}

// Read returns the digits of a captcha. It searches the distortion and the place on a coarse grid, and then on a fine
// grid near the best fit. The library draws amplitudes from 5 to 10 and periods from 100 to 200.
func Read(m image.Image) string {
	ink := inkOf(m)
	best := fit{score: math.MinInt}
	for amplitude := 5.5; amplitude < 10; amplitude++ {
		for period := 105.0; period < 200; period += 12 {
			p := straighten(ink, amplitude, period)
			for x := 16; x < 66; x += 2 {
				_, first := p.digit(x, 17, 4)
				_, third := p.digit(x+2*digitStep, 17, 4)
				// Two of six digits have a third of the score; the margin is 160.
				if best.score > 0 && first+third < best.score/3-160 {
					continue
				}
				if _, score := p.text(x, 17, 4); score > best.score {
					best = fit{amplitude, period, x, 17, score}
				}
			}
		}
	}
	rough := best
	best.score = math.MinInt
	for a := -0.75; a <= 0.75; a += 0.25 {
		for d := -9.0; d <= 9; d += 3 {
			p := straighten(ink, rough.amplitude+a, rough.period+d)
			for x := rough.x - 2; x <= rough.x+2; x++ {
				for y := 16; y <= 19; y++ {
					if _, score := p.text(x, y, 4); score > best.score {
						best = fit{rough.amplitude + a, rough.period + d, x, y, score}
					}
				}
			}
		}
	}
	text, _ := straighten(ink, best.amplitude, best.period).text(best.x, best.y, 1)
	return text
}
