package backoffice

import (
	"context"

	"stampede/app/outbox"
)

// MailQueue finds out and confirms that e-mails were lost with Redis.
type MailQueue interface {
	Check(ctx context.Context) error
	Reread(ctx context.Context) error
	Confirm(ctx context.Context, lost *outbox.LostError) error
}
