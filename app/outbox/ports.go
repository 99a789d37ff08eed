package outbox

import (
	"context"
)

// Mailer enqueues e-mails. After Send has returned nil, the e-mails are sent at least once, also after a crash. Send
// does not wait for a mail server.
type Mailer interface {
	Send(ctx context.Context, mails ...Email) error
}
