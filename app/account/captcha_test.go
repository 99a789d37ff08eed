package account

import (
	"net/netip"
	"testing"

	"stampede/app/admission"
)

// TestPicturesAreShared: below captchaPlenty an address gets only its share, callers with an unread picture are
// rejected, and other callers get a picture. Above it every request is served.
func TestPicturesAreShared(t *testing.T) {
	t.Parallel()
	var clock testClock
	c := NewCaptchas(NewCounters(nil), nil)
	c.drawing = newBudget(captchaShare, captchaSaved, clock.now)
	farm := admission.PictureAsker{From: netip.MustParseAddr("2001:db8::1")}
	given := func(asker admission.PictureAsker) (n int) {
		for range 300 {
			if c.admit(asker) {
				n++
			}
		}
		return n
	}
	if n := given(farm); n != 300 {
		t.Errorf("%d of 300 were given while there were plenty", n)
	}
	c.drawing.pay(captchaSaved - captchaPlenty + 1)
	if n := given(farm); n > 1 {
		t.Errorf("an address that has had 300 got %d more", n)
	}
	neighbour := admission.PictureAsker{From: netip.MustParseAddr("2001:db8::2")} // same customer network
	if n := given(neighbour); n > 1 {
		t.Errorf("the same customer under another address got %d more", n)
	}
	office := admission.PictureAsker{From: netip.MustParseAddr("192.0.2.7")}
	if n := given(office); n < captchaPace.Burst || n > captchaPace.Burst+1 {
		t.Errorf("an address that had none got %d, its share is %d", n, captchaPace.Burst)
	}
	hoarder := admission.PictureAsker{From: netip.MustParseAddr("192.0.2.8"), Unread: 1}
	if c.admit(hoarder) {
		t.Error("somebody who has one to read got another")
	}
	if hoarder.Unread = 0; !c.admit(hoarder) {
		t.Error("somebody with nothing to read got none")
	}
	c.drawing.pay(captchaSaved)
	if c.admit(admission.PictureAsker{From: netip.MustParseAddr("192.0.2.9")}) {
		t.Error("the processor time is used up, and one was drawn")
	}
	clock.pass(2 * captchaSaved * 20) // 20: 1 / captchaShare
	if !c.admit(farm) {
		t.Error("there are plenty again, and the address is still told to wait")
	}
}
