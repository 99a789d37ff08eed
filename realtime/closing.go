package realtime

import (
	"context"
	"math/rand/v2"
	"time"

	"stampede/app/shop"
)

// CloseCode is the reason why the server closes a connection. Clients reconnect after 4000–4499 but not after
// 4500–4999.
type CloseCode int

// The close codes. PROTOCOL.md describes how clients handle them.
const (
	CloseDrain    CloseCode = 4000 // this node shuts down; connect to another one
	CloseSlow     CloseCode = 4001 // the client reads too slowly
	CloseIdle     CloseCode = 4002 // no frame or pong was received in time
	CloseNoHello  CloseCode = 4003 // no successful hello in time
	CloseResync   CloseCode = 4004 // missed changes cannot be sent as events; send hello with the cursor
	CloseFull     CloseCode = 4005 // this node has MaxClients connections
	CloseProtocol CloseCode = 4500 // repeated unreadable frames
	CloseTooFast  CloseCode = 4501 // far more ops than allowed
	CloseTooLarge CloseCode = 4502 // a frame beyond 4 KiB
	CloseBinary   CloseCode = 4503 // a binary frame
	CloseToken    CloseCode = 4504 // the token expired and was not renewed
	CloseReplaced CloseCode = 4505 // too many connections of the user; a newer one replaced this one
	CloseRevoked  CloseCode = 4506 // the token was revoked, for example by a logout
	CloseBlocked  CloseCode = 4507 // the user or the address is on the block list
)

var closeReasons = map[CloseCode]string{
	CloseDrain:    "drain",
	CloseSlow:     "slow",
	CloseIdle:     "idle",
	CloseNoHello:  "no hello",
	CloseResync:   "resync",
	CloseFull:     "full",
	CloseProtocol: "bad protocol",
	CloseTooFast:  "too fast",
	CloseTooLarge: "frame too large",
	CloseBinary:   "binary frame",
	CloseToken:    "token ended",
	CloseReplaced: "replaced",
	CloseRevoked:  "signed out",
	CloseBlocked:  "blocked",
}

// String returns the reason text of the close frame.
func (c CloseCode) String() string { return closeReasons[c] }

// MayReconnect reports whether the client should reconnect automatically.
func (c CloseCode) MayReconnect() bool { return c < 4500 }

// The reconnect delay is random, so that clients do not return at the same time.
const (
	minRetryDelay = 250 * time.Millisecond
	maxRetryDelay = 2 * time.Second
)

// retryAfter returns a random reconnect delay; 0: the client should not reconnect.
func (c CloseCode) retryAfter(maxDelay time.Duration) time.Duration {
	if !c.MayReconnect() {
		return 0
	}
	return minRetryDelay + rand.N(max(maxDelay-minRetryDelay, time.Millisecond))
}

// maxPause is the maximum reconnect delay of a drained client, however long the drain may take.
const maxPause = 5 * time.Second

// drainReplyTimeout is how long a drain waits for the reply to a running op.
const drainReplyTimeout = 3 * time.Second

// Drain closes all connections and accepts no new ones. Each client receives the reply to its running op, then `bye`
// with a reconnect delay of at most the smaller of `within` and maxPause (and at least minRetryDelay), then a close
// frame. After drainReplyTimeout, Drain no longer waits for replies. When ctx ends, Drain cuts the remaining
// connections and returns the error of ctx. Run must not end before Drain, so that no event is missed.
func (cs *connections) Drain(ctx context.Context, within time.Duration) error {
	cs.mu.Lock()
	cs.draining = true
	cs.mu.Unlock()
	for _, c := range cs.allClients() {
		c.startCloseAfterOp(CloseDrain, min(within, maxPause))
		cs.waitForWriters()
	}
	late := time.AfterFunc(drainReplyTimeout, func() {
		for _, c := range cs.allClients() {
			c.startCloseWithDelay(CloseDrain, min(within, maxPause))
		}
	})
	defer late.Stop()
	gone := make(chan struct{})
	go func() {
		cs.serving.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		for _, c := range cs.allClients() {
			_ = c.conn.Close()
		}
		<-gone // closing a connection ends its reader and writer immediately
		return ctx.Err()
	}
}

// CloseBlocked closes the connections that are now blocked. Call it after the result of Options.Blocked has changed.
// A new connection is checked after connections.enter, so that no blocked connection stays open.
func (cs *connections) CloseBlocked() {
	for _, c := range cs.allClients() {
		if cs.closeIfBlocked(c) {
			cs.waitForWriters()
		}
	}
}

// closeIfBlocked closes the connection of a blocked user or address and reports whether the connection is blocked.
// readAll discards later frames of the connection.
func (cs *connections) closeIfBlocked(c *client) bool {
	if cs.options.Blocked == nil {
		return false
	}
	if !cs.options.Blocked(c.currentIdentity().User, c.addr) {
		return false
	}
	c.startClose(CloseBlocked)
	return true
}

// checkClients checks all connections every CheckEvery until ctx ends.
func (cs *connections) checkClients(ctx context.Context) error {
	for shop.Sleep(ctx, cs.options.CheckEvery) {
		cs.checkClientsOnce()
	}
	return ctx.Err()
}

// checkClientsOnce pings silent clients and closes those that stay silent. It closes sessions with an expired or
// revoked token. A login revokes earlier tokens, so the client may renew with the new token until the second check.
func (cs *connections) checkClientsOnce() {
	elapsed, now := cs.elapsed(), cs.options.Shop.Now()
	for _, c := range cs.allClients() {
		silent := elapsed - time.Duration(c.aliveAt.Load())
		if silent >= cs.options.PingEvery && elapsed-c.pingedAt >= cs.options.PingEvery {
			c.pingedAt = elapsed
			c.offerPing()
			cs.waitForWriters()
		}
		if silent >= cs.options.IdleAfter && c.isGreeted() { // before hello, the read deadline applies
			c.startClose(CloseIdle)
			cs.waitForWriters()
			continue
		}
		identity := c.currentIdentity()
		wasRevoked := c.revoked
		c.revoked = identity.User != 0 && cs.options.Shop.Revoked(identity)
		switch {
		case identity.User == 0:
		case c.revoked && wasRevoked:
			c.startClose(CloseRevoked)
			cs.waitForWriters()
		case now > identity.Expires.Add(cs.options.TokenGrace):
			c.startClose(CloseToken)
			cs.waitForWriters()
		}
	}
}
