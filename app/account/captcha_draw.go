package account

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"
)

const (
	waveStep  = 4    // shifts are in quarters of a pixel
	waveBend  = 0.3  // slope of a wave that bends digits; people read larger slopes less easily
	waveWidth = 0.12 // slope of a wave that makes digits wider or narrower; small, so that neighbours do not overlap
	shades    = 4    // steps between the background and the ink; more steps make larger files
)

// bend redraws a picture of the captcha library in true colours. Digits and noise have one ink, and their edges the
// same shades, so colours do not separate them. The distortion of the library has only two parameters, so that a
// program can find and undo it; therefore random waves bend the picture once more.
func bend(p *image.Paletted) *image.RGBA {
	size := p.Rect.Size()
	// The pixel (x, y) shows the point that is across[0][x]+across[1][y] steps to the right and down[0][x]+down[1][y]
	// steps below.
	across := [2][]int{waves(size.X, waveWidth), waves(size.Y, waveBend)}
	down := [2][]int{waves(size.X, waveBend), waves(size.Y, waveWidth)}
	colours := inkColours()
	inked := func(x, y int) int {
		if x < 0 || y < 0 || x >= size.X || y >= size.Y || p.Pix[y*p.Stride+x] == 0 {
			return 0
		}
		return 1
	}
	m := image.NewRGBA(p.Rect)
	for y := range size.Y {
		for x := range size.X {
			left, u := split(waveStep*x + across[0][x] + across[1][y])
			top, v := split(waveStep*y + down[0][x] + down[1][y])
			// Interpolated between the four neighbours: 0 to waveStep².
			ink := (inked(left, top)*(waveStep-u)+inked(left+1, top)*u)*(waveStep-v) +
				(inked(left, top+1)*(waveStep-u)+inked(left+1, top+1)*u)*v
			m.SetRGBA(x, y, colours[ink*shades/(waveStep*waveStep)])
		}
	}
	return m
}

// split returns the whole pixels of a position, rounded down, and the remaining steps.
func split(position int) (pixels, steps int) {
	steps = (position%waveStep + waveStep) % waveStep
	return (position - steps) / waveStep, steps
}

// waves returns n shifts: the sum of a short and a long wave of random length, slope and phase.
func waves(n int, slope float64) []int {
	shifts := make([]int, n)
	for _, longest := range []float64{60, 130} { // pixels
		length := longest * (0.6 + 0.4*rand.Float64())
		height := slope * (0.8 + 0.2*rand.Float64()) * length / (2 * math.Pi)
		phase := 2 * math.Pi * rand.Float64()
		for i := range shifts {
			shifts[i] += int(math.Round(waveStep * height * math.Sin(2*math.Pi*float64(i)/length+phase)))
		}
	}
	return shifts
}

// inkColours returns the colours from white to a random dark ink.
func inkColours() (colours [shades + 1]color.RGBA) {
	r, g, b := rand.IntN(129), rand.IntN(129), rand.IntN(129)
	for i := range colours {
		channel := func(dark int) uint8 { return uint8(255 - (255-dark)*i/shades) }
		colours[i] = color.RGBA{channel(r), channel(g), channel(b), 255}
	}
	return colours
}
