package realtime

import (
	"context"
	"math/rand/v2"
	"time"

	"stampede/app/shop"
)

// CloseCode says why the server ends a connection: 4000–4499 reconnect, 4500–4999 do not.
type CloseCode int

// The close codes; PROTOCOL.md says what a client does about each.
const (
	CloseDrain    CloseCode = 4000 // this node goes away; another one is there
	CloseSlow     CloseCode = 4001 // the client did not read what was sent
	CloseIdle     CloseCode = 4002 // nothing was heard, not even a pong
	CloseNoHello  CloseCode = 4003 // no successful hello in time
	CloseResync   CloseCode = 4004 // what it missed cannot be told as events; say hello with the cursor
	CloseFull     CloseCode = 4005 // this node has as many connections as it may
	CloseProtocol CloseCode = 4500 // frames that cannot be read, again and again
	CloseTooFast  CloseCode = 4501 // far more ops than allowed
	CloseTooLarge CloseCode = 4502 // a frame beyond 4 KiB
	CloseBinary   CloseCode = 4503 // a binary frame
	CloseToken    CloseCode = 4504 // the token ended and was not renewed
	CloseReplaced CloseCode = 4505 // the user has too many connections; a newer one took this one's place
	CloseRevoked  CloseCode = 4506 // the token was revoked: logged out, here or elsewhere
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

// String returns the reason in the close frame.
func (c CloseCode) String() string { return closeReasons[c] }

// MayReconnect reports whether the client should reconnect by itself.
func (c CloseCode) MayReconnect() bool { return c < 4500 }

// The pause before a reconnect is random, so that clients do not return in step.
const (
	retrySoonest = 250 * time.Millisecond
	retryLatest  = 2 * time.Second
)

// retryAfter draws the pause before the client reconnects; 0 if it should not.
func (c CloseCode) retryAfter(latest time.Duration) time.Duration {
	if !c.MayReconnect() {
		return 0
	}
	return retrySoonest + rand.N(max(latest-retrySoonest, time.Millisecond))
}

// longestPause bounds the pause of a drained client, however long the drain may take.
const longestPause = 5 * time.Second

// answersWithin is how long a drain waits for the reply to a running op.
const answersWithin = 3 * time.Second

// Drain ends all connections and accepts no new ones. Each client receives the reply to its running op, `bye` with a
// pause of at most within (and 5 s), and a close frame. When ctx ends, Drain closes the rest and returns its error. Run
// must still be running, so that no event is missed.
func (h *Hub) Drain(ctx context.Context, within time.Duration) error {
	h.mu.Lock()
	h.draining = true
	h.mu.Unlock()
	for _, c := range h.everybody() {
		c.departAnswered(CloseDrain, min(within, longestPause))
		h.letWritersBegin()
	}
	late := time.AfterFunc(answersWithin, func() {
		for _, c := range h.everybody() {
			c.departWithin(CloseDrain, min(within, longestPause))
		}
	})
	defer late.Stop()
	gone := make(chan struct{})
	go func() {
		h.serving.Wait()
		close(gone)
	}()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		for _, c := range h.everybody() {
			_ = c.conn.Close()
		}
		<-gone // a closed connection ends its reader and its writer at once
		return ctx.Err()
	}
}

// CloseBlocked ends the connections that are blocked now. Call it after the answers of Options.Blocked have changed.
// New connections check themselves after they have entered, so none is missed.
func (h *Hub) CloseBlocked() {
	for _, c := range h.everybody() {
		if h.closeIfBlocked(c) {
			h.letWritersBegin()
		}
	}
}

// closeIfBlocked ends the connection of a blocked user or address and reports whether it did. Its later frames are
// discarded (readAll).
func (h *Hub) closeIfBlocked(c *client) bool {
	if h.options.Blocked == nil {
		return false
	}
	if !h.options.Blocked(c.who().User, c.addr) {
		return false
	}
	c.depart(CloseBlocked)
	return true
}

// keep checks the connections from time to time until ctx ends.
func (h *Hub) keep(ctx context.Context) error {
	for shop.Sleep(ctx, h.options.KeepEvery) {
		h.keepOnce()
	}
	return ctx.Err()
}

// keepOnce pings silent clients, ends those that stay silent, and ends sessions whose token expired or was revoked. A
// log in revokes earlier tokens; the client has until the second check to renew with the new one.
func (h *Hub) keepOnce() {
	elapsed, now := h.elapsed(), h.shop.Now()
	for _, c := range h.everybody() {
		silent := elapsed - time.Duration(c.aliveAt.Load())
		if silent >= h.options.PingEvery && elapsed-c.pingedAt >= h.options.PingEvery {
			c.pingedAt = elapsed
			c.offerPing()
			h.letWritersBegin()
		}
		if silent >= h.options.IdleAfter && c.isGreeted() { // before hello there is a deadline
			c.depart(CloseIdle)
			continue
		}
		who := c.who()
		before := c.revoked
		c.revoked = who.User != 0 && h.shop.Revoked(who)
		switch {
		case who.User == 0:
		case c.revoked && before:
			c.depart(CloseRevoked)
			h.letWritersBegin()
		case now > who.Expires.Add(h.options.TokenGrace):
			c.depart(CloseToken)
		}
	}
}
