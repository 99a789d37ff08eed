package server

import (
	"testing"
	"time"

	"stampede/app/account"
	"stampede/realtime"
)

// PROTOCOL.md promises that sockets of revoked tokens are closed within 5 s: a node reads the revocation, then the hub
// closes the socket at its second look.
func TestRevokedSocketsCloseWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	if got := account.WatchEvery + 2*realtime.DefaultKeepEvery; got > 5*time.Second {
		t.Errorf("sockets of revoked tokens are closed after up to %v, want at most 5s", got)
	}
}
