package account

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"stampede/app/outbox"
)

// TestPasswordOfMaxLengthActivatesAccount: a password of the maximum length activates an account, even if its
// letters are sent in decomposed Unicode form (NFD).
func TestPasswordOfMaxLengthActivatesAccount(t *testing.T) {
	onBoth(t, func(w *world) {
		email, password := newEmail(), "x"+strings.Repeat("ệ", maxPassword-1)
		w.must(w.Register(w.ctx, Registration{Email: email, Password: password, Captcha: w.solution()}))
		_, err := w.Activate(w.ctx, Activation{
			Token: w.takeLinkSecret(email, outbox.EmailActivate), Password: norm.NFD.String(password),
		})
		w.must(err)
	})
}
