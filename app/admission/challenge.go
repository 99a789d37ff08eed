package admission

import (
	"context"
	"net/netip"

	"stampede/app/shop"
)

// Captcha issues pictures that are easy to read for people and hard to read for programs. A picture is invalid after
// the first check. Errors wrap ErrTransient, or are *Error for clients.
type Captcha interface {
	// New makes a picture. It returns its ID, the image as a data URL (data:image/png;base64,…), and the end of its
	// validity. Busy: there are not enough pictures, and other clients have priority.
	New(ctx context.Context, client PictureClient) (id, image string, until shop.Millis, err error)
	// Check reports whether the solution is correct. It also invalidates the picture.
	Check(ctx context.Context, id, answer string) (bool, error)
}

// PictureClient describes the client that requests a picture. It determines the client's priority while
// there are not enough pictures.
type PictureClient struct {
	From     netip.Addr // zero: unknown
	Unsolved int        // pictures of the user without a submitted solution in the current minute, on this node
}
