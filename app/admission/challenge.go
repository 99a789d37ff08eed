package admission

import (
	"context"
	"net/netip"

	"stampede/app/shop"
)

// Captcha issues pictures that people can read and programs hardly can. Each picture is checked once; after that it is
// invalid. Errors wrap ErrTransient, or are *Error for clients.
type Captcha interface {
	// New makes a picture. It returns its ID, the image as a data URL (data:image/png;base64,…), and the end of its
	// validity. Busy: there are not enough pictures now, and other clients have priority over asker.
	New(ctx context.Context, client PictureClient) (id, image string, until shop.Millis, err error)
	Check(ctx context.Context, id, answer string) (bool, error)
}

// PictureClient describes the client of a picture. It determines the priority while pictures are scarce.
type PictureClient struct {
	From   netip.Addr // zero: unknown
	Unsolved int        // pictures of the user without a submitted solution in the present minute, on this node
}
