package account

import (
	"testing"
)

// TestEmailsPerAddressAreLimited: repeated requests for links cannot fill a mailbox.
func TestEmailsPerAddressAreLimited(t *testing.T) {
	onBoth(t, func(w *world) {
		email := w.account()
		for range maxEmailsPerHour + 3 {
			w.must(w.RequestReset(w.ctx, ResetRequest{Email: email, Captcha: w.solution()}))
		}
		if n := len(w.takeEmails(email)); n != maxEmailsPerHour-1 { // the activation used one
			w.t.Errorf("got %d e-mails, want %d", n, maxEmailsPerHour-1)
		}
	})
}
