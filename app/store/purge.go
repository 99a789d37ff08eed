package store

import (
	"context"
	"time"

	"stampede/app/shop"
)

const (
	// pendingKept is how long a registration waits to be activated; its links have ended long before.
	pendingKept = 7 * 24 * time.Hour
	// endedKept is how long log ins and links stay after they have ended, for questions about them.
	endedKept = 7 * 24 * time.Hour
)

// PurgeAccounts removes what counts no more at the instant now: registrations that nobody has activated, and log ins,
// links and revocations that have ended.
func (s *Store) PurgeAccounts(ctx context.Context, now shop.Millis) error {
	for _, purge := range []struct {
		what, statement string
		args            []any
	}{
		{"links", "DELETE FROM mail_tokens WHERE expires_at < ?", []any{now.Add(-endedKept)}},
		{"log ins", "DELETE FROM devices WHERE expires_at < ?", []any{now.Add(-endedKept)}},
		{"revocations", "DELETE FROM revoked WHERE until < " + s.d.now, nil},
		{
			"registrations", "DELETE FROM users WHERE state = ? AND created_at < ?",
			[]any{shop.UserPending, now.Add(-pendingKept)},
		},
	} {
		if _, err := s.run(ctx, "forget old "+purge.what, purge.statement, purge.args...); err != nil {
			return err
		}
	}
	return nil
}
