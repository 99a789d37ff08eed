package app

import "context"

// Captcha shows pictures that people can read and programs hardly. An answer is looked at once: right or wrong, the
// picture is worth nothing afterwards. Errors wrap ErrTransient, or are *Error for people.
type Captcha interface {
	// New makes a picture: its id, the picture as an address of its own (data:image/png;base64,…), and until when an
	// answer counts.
	New(ctx context.Context) (id, image string, until Millis, err error)
	// Check reports whether the answer is right. A picture that is not known, any more, is answered wrong.
	Check(ctx context.Context, id, answer string) (bool, error)
}
