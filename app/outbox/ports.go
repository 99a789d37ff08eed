package outbox

import (
	"context"

	"stampede/app/shop"
)

// Inventory is the state of the sales in Redis: stock, holds, deadlines. Every call that writes carries the
// partition's epoch by itself and fails with ErrStaleEpoch when Redis is at another one.
type Inventory interface {
	Now(ctx context.Context) (shop.Millis, error)
}

// Mailer takes e-mails over to be sent: once Send has answered nil, each of them is sent at least once, also after a
// crash. It waits for no mail server.
type Mailer interface {
	Send(ctx context.Context, mails ...Email) error
}
