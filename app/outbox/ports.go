package outbox

import (
	"context"
)

// Mailer takes e-mails over to be sent: once Send has answered nil, each of them is sent at least once, also after a
// crash. It waits for no mail server.
type Mailer interface {
	Send(ctx context.Context, mails ...Email) error
}
