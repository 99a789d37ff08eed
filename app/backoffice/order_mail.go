package backoffice

import (
	"context"

	"stampede/app/outbox"
)

// MailQueue finds out and confirms that e-mails were lost with Redis.
type MailQueue interface {
	// Check returns a LostError if e-mails may be missing that were handed over.
	Check(ctx context.Context) error
	// Reread repeats the e-mails about the postings that are still in the back office's stream.
	Reread(ctx context.Context) error
	// Confirm ends the loss.
	Confirm(ctx context.Context, lost *outbox.LostError) error
}
