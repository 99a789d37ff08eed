package server

import (
	"testing"
	"time"

	"stampede/app/account"
	"stampede/realtime"
)

// TestRevokedSocketsCloseWithinFiveSeconds checks the limit of PROTOCOL.md: sockets of revoked tokens close within 5 s.
// A node reads the revocation, then the hub closes the socket at its second check.
func TestRevokedSocketsCloseWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	if got := account.WatchEvery + 2*realtime.DefaultCheckEvery; got > 5*time.Second {
		t.Errorf("sockets of revoked tokens are closed after up to %v, want at most 5s", got)
	}
}
