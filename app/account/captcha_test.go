package account

import (
	"net/netip"
	"testing"

	"stampede/app/admission"
)

// TestLowBudgetLimitsCaptchasPerAddress: below captchaLimitBelow an address gets only its share, callers with an
// unsolved picture are rejected, and other callers get a picture. Above captchaLimitBelow every request is served.
func TestLowBudgetLimitsCaptchasPerAddress(t *testing.T) {
	t.Parallel()
	var clock testClock
	c := NewCaptchas(NewCounters(nil), nil)
	c.drawing = newBudget(captchaShare, captchaMaxBudget, clock.now)
	farm := admission.PictureClient{From: netip.MustParseAddr("2001:db8::1")}
	admitted := func(client admission.PictureClient) (n int) {
		for range 300 {
			if c.admit(client) {
				n++
			}
		}
		return n
	}
	if n := admitted(farm); n != 300 {
		t.Errorf("got %d captchas while the budget was high, want 300", n)
	}
	c.drawing.pay(captchaMaxBudget - captchaLimitBelow + 1)
	if n := admitted(farm); n > 1 {
		t.Errorf("an address with 300 captchas got %d more, want at most 1", n)
	}
	neighbour := admission.PictureClient{From: netip.MustParseAddr("2001:db8::2")} // same customer network
	if n := admitted(neighbour); n > 1 {
		t.Errorf("another address of the same customer network got %d, want at most 1", n)
	}
	office := admission.PictureClient{From: netip.MustParseAddr("192.0.2.7")}
	if n := admitted(office); n < captchaPace.Burst || n > captchaPace.Burst+1 {
		t.Errorf("an address without captchas got %d, want its share of %d", n, captchaPace.Burst)
	}
	hoarder := admission.PictureClient{From: netip.MustParseAddr("192.0.2.8"), Unsolved: 1}
	if c.admit(hoarder) {
		t.Error("a caller with an unsolved captcha got another one")
	}
	if hoarder.Unsolved = 0; !c.admit(hoarder) {
		t.Error("a caller without an unsolved captcha got none, want one")
	}
	c.drawing.pay(captchaMaxBudget)
	if c.admit(admission.PictureClient{From: netip.MustParseAddr("192.0.2.9")}) {
		t.Error("a captcha was drawn without processor time left")
	}
	clock.advance(2 * captchaMaxBudget * 20) // 20: 1 / captchaShare
	if !c.admit(farm) {
		t.Error("the budget is high again, but the address is rejected")
	}
}
