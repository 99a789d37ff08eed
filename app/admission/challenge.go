package admission

import (
	"context"
	"net/netip"

	"stampede/app/shop"
)

// Captcha shows pictures that people can read and programs hardly. An answer is looked at once: right or wrong, the
// picture is worth nothing afterwards. Errors wrap ErrTransient, or are *Error for people.
type Captcha interface {
	// New makes a picture: its id, the picture as an address of its own (data:image/png;base64,…), and until when an
	// answer counts. Busy: there are not enough for all right now, and this asker is not the first to get one.
	New(ctx context.Context, asker PictureAsker) (id, image string, until shop.Millis, err error)
	Check(ctx context.Context, id, answer string) (bool, error)
}

// PictureAsker is who asks for a picture, as far as that matters while there are not enough for all.
type PictureAsker struct {
	From   netip.Addr // zero: not known
	Unread int        // pictures they were shown within the last minute, on this node, and have not answered
}
