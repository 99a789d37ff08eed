package realtime

import (
	"context"

	"stampede/app"
)

// A shopper of a rehearsal comes with a token in the handshake, which gives the connection an address of its own
// (app.RehearsalAddr), and says hello with the same one. Neither is of use without the other: no socket of a rehearsal
// becomes that of anybody else, who would have further addresses for the asking, and no token of a rehearsal opens
// sockets that count for the address of their process.

// rehearsalOps are the ops of such a shopper. Nothing is paid in a rehearsal, and nobody reads an order of it later.
var rehearsalOps = map[string]bool{
	"hello": true, "time": true, "watch": true, "unwatch": true, "buy": true, "pass": true, "solve": true, "cancel": true,
}

// rehearses reports whether the connection is one of a rehearsal.
func (c *client) rehearses() bool { return app.IsRehearsalAddr(c.addr) }

// mayAsk reports whether the op is for who is connected.
func (c *client) mayAsk(op string) bool { return !c.rehearses() || rehearsalOps[op] }

// mayBe refuses shoppers of a rehearsal on other connections, and others on theirs.
func (c *client) mayBe(who *app.Identity) error {
	rehearsed := who.Rehearsal() != 0
	switch {
	case !rehearsed && !c.rehearses():
		return nil
	case rehearsed && c.addr == app.RehearsalAddr(who.User):
		return nil
	}
	return app.Fail(app.Forbidden, "this token is not the one that the socket was opened with")
}

// rehearsing is the context in which a shopper of a rehearsal is offered its sale, and nothing else.
func (c *client) rehearsing(ctx *opContext) context.Context {
	if !c.rehearses() {
		return ctx
	}
	who := c.who()
	return app.Rehearsing(ctx, who.Rehearsal())
}
