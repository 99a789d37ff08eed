package account

import (
	"encoding/base64"
	"image"
	"image/color"
	"image/png"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mojocn/base64Captcha"

	"stampede/app/admission"
	"stampede/app/test/kit/ocr"
)

// TestLowBudgetLimitsCaptchasPerAddress: below captchaLimitBelow an address gets only its burst, callers with an
// unsolved picture are rejected, and other callers get a picture. Above captchaLimitBelow every request is served.
func TestLowBudgetLimitsCaptchasPerAddress(t *testing.T) {
	t.Parallel()
	var clock testClock
	c := NewCaptchas(NewCounters(nil), nil)
	c.drawBudget = newBudget(captchaShare, captchaMaxBudget, clock.now)
	floodClient := admission.PictureClient{From: netip.MustParseAddr("2001:db8::1")}
	admitted := func(client admission.PictureClient) (n int) {
		for range 300 {
			if c.admit(client) {
				n++
			}
		}
		return n
	}
	if n := admitted(floodClient); n != 300 {
		t.Errorf("got %d captchas while the budget was high, want 300", n)
	}
	c.drawBudget.pay(captchaMaxBudget - captchaLimitBelow + 1)
	if n := admitted(floodClient); n > 1 {
		t.Errorf("an address with 300 captchas got %d more, want at most 1", n)
	}
	neighbour := admission.PictureClient{From: netip.MustParseAddr("2001:db8::2")} // the same /64
	if n := admitted(neighbour); n > 1 {
		t.Errorf("another address of the same /64 got %d captchas, want at most 1", n)
	}
	office := admission.PictureClient{From: netip.MustParseAddr("192.0.2.7")}
	if n := admitted(office); n < captchaPace.Burst || n > captchaPace.Burst+1 {
		t.Errorf("an address without earlier captchas got %d captchas, want its burst of %d", n, captchaPace.Burst)
	}
	unsolvedClient := admission.PictureClient{From: netip.MustParseAddr("192.0.2.8"), Unsolved: 1}
	if c.admit(unsolvedClient) {
		t.Error("a caller with an unsolved captcha got another captcha, want none")
	}
	unsolvedClient.Unsolved = 0
	if !c.admit(unsolvedClient) {
		t.Error("a caller without an unsolved captcha got none, want one")
	}
	c.drawBudget.pay(captchaMaxBudget)
	if c.admit(admission.PictureClient{From: netip.MustParseAddr("192.0.2.9")}) {
		t.Error("a captcha was drawn with an exhausted budget, want none")
	}
	clock.advance(2 * captchaMaxBudget * 20) // 20: 1 / captchaShare
	if !c.admit(floodClient) {
		t.Error("the address is rejected after the budget has recovered, want it admitted")
	}
}

// TestProgramReadsFewCaptchas: a program that has the font and the distortion of the library reads the unmodified
// pictures of the library, but at most 20 of 100 captchas.
func TestProgramReadsFewCaptchas(t *testing.T) {
	t.Parallel()
	c := NewCaptchas(NewCounters(nil), nil)
	if n := countRead(t, 10, func(answer string) image.Image {
		item, err := c.driver.DrawCaptcha(answer)
		if err != nil {
			t.Error(err)
			return image.NewRGBA(image.Rect(0, 0, 240, 80))
		}
		return item.(*base64Captcha.ItemDigit).Paletted
	}); n < 8 {
		t.Errorf("the program reads %d of 10 pictures of the library, want at least 8: it is too weak for this test", n)
	}
	n := countRead(t, 100, func(answer string) image.Image { return drawnCaptcha(t, c, answer) })
	t.Logf("the program reads %d of 100 captchas", n)
	if n > 20 {
		t.Errorf("a program reads %d of 100 captchas, want at most 20", n)
	}
}

// TestCaptchaHasOneInk: digits and noise have the same colours, so no colour, channel or brightness separates them.
func TestCaptchaHasOneInk(t *testing.T) {
	t.Parallel()
	m := drawnCaptcha(t, NewCaptchas(NewCounters(nil), nil), "012345")
	colours := make(map[color.Color]bool)
	for y := range m.Bounds().Dy() {
		for x := range m.Bounds().Dx() {
			colours[m.At(x, y)] = true
		}
	}
	if len(colours) > shades+1 {
		t.Errorf("the captcha has %d colours, want at most %d: the shades of one ink", len(colours), shades+1)
	}
}

// countRead counts the pictures of random digits that the reader reads.
func countRead(t *testing.T, pictures int, draw func(answer string) image.Image) int {
	t.Helper()
	var read atomic.Int64
	var readers sync.WaitGroup
	for range pictures {
		answer, err := digits(captchaDigits)
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			if ocr.Read(draw(answer)) == answer {
				read.Add(1)
			}
		})
	}
	readers.Wait()
	return int(read.Load())
}

// drawnCaptcha returns the picture that clients receive.
func drawnCaptcha(t *testing.T, c *Captchas, answer string) image.Image {
	t.Helper()
	url, err := c.draw(answer)
	if err != nil {
		t.Error(err)
		return image.NewRGBA(image.Rect(0, 0, 240, 80))
	}
	m, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(
		strings.TrimPrefix(url, "data:image/png;base64,"))))
	if err != nil {
		t.Error(err)
		return image.NewRGBA(image.Rect(0, 0, 240, 80))
	}
	return m
}
