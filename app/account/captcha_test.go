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
	neighbour := admission.PictureClient{From: netip.MustParseAddr("2001:db8::2")} // same customer network
	if n := admitted(neighbour); n > 1 {
		t.Errorf("another address of the same customer network got %d captchas, want at most 1", n)
	}
	office := admission.PictureClient{From: netip.MustParseAddr("192.0.2.7")}
	if n := admitted(office); n < captchaPace.Burst || n > captchaPace.Burst+1 {
		t.Errorf("an address without earlier captchas got %d captchas, want its share of %d", n, captchaPace.Burst)
	}
	unsolvedClient := admission.PictureClient{From: netip.MustParseAddr("192.0.2.8"), Unsolved: 1}
	if c.admit(unsolvedClient) {
		t.Error("a caller with an unsolved captcha got another captcha, want none")
	}
	if unsolvedClient.Unsolved = 0; !c.admit(unsolvedClient) {
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
