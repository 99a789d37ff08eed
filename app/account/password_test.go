package account

import (
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"stampede/app"
)

// The longest password activates, also if the keyboard sends its letters decomposed.
func TestLongPasswordsActivate(t *testing.T) {
	onBoth(t, func(w *world) {
		email, password := newEmail(), "x"+strings.Repeat("ệ", maxPassword-1)
		w.must(w.Register(w.ctx, app.Registration{Email: email, Password: password, Captcha: w.solution()}))
		_, err := w.Activate(w.ctx, app.Activation{
			Token: w.link(email, app.EmailActivate), Password: norm.NFD.String(password),
		})
		w.must(err)
	})
}
