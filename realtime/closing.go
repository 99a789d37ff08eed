package realtime

import (
	"math/rand/v2"
	"time"
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

// String is the reason in the close frame.
func (c CloseCode) String() string { return closeReasons[c] }

// MayReconnect reports whether the client should come back on its own.
func (c CloseCode) MayReconnect() bool { return c < 4500 }

// The pause before a reconnect is drawn from this range, so that clients do not come back in step.
const (
	retrySoonest = 250 * time.Millisecond
	retryLatest  = 2 * time.Second
)

// retryAfter draws the pause that a client is asked to keep; 0 when it should not come back.
func (c CloseCode) retryAfter(latest time.Duration) time.Duration {
	if !c.MayReconnect() {
		return 0
	}
	return retrySoonest + rand.N(max(latest-retrySoonest, time.Millisecond))
}
