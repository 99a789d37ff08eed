package realtime

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"stampede/app/shop"
)

// newSession returns a random name of a connection for logs and the reply to hello. It is not secret.
func newSession() string { return fmt.Sprintf("%016x", rand.Uint64()) }

// opHello authenticates the connection. The order of its steps ensures that no personal event is lost. A change that is
// published during hello is in the rows, or its event waits for the reply. If a reservation becomes a row during hello,
// the client receives an event.
//
//	registerUser (events start to wait) → rows since the cursor → reservations → reply → waiting events
func opHello(c *client, ctx *opContext, r *request) (any, error) {
	if c.isGreeted() {
		return nil, shop.Fail(shop.WrongState, "a connection accepts one hello")
	}
	began := time.Now()
	result, err := authenticate(c, ctx, r)
	if err != nil {
		extendHello(c, time.Since(began), err)
	}
	return result, err
}

// extendHello extends the hello deadline after a failed hello. Server processing time does not count. After Busy, the
// client has the full time again.
func extendHello(c *client, took time.Duration, rejection error) {
	c.helloDeadline = c.helloDeadline.Add(took)
	if shop.AsError(rejection).Code == shop.Busy {
		c.helloDeadline = time.Now().Add(c.hub.options.HelloWithin)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.closing == 0 { // a closing connection has another deadline
		_ = c.conn.SetReadDeadline(c.helloDeadline)
	}
}

func authenticate(c *client, ctx *opContext, r *request) (any, error) {
	f := fieldReader{request: r}
	token, cursor := f.text("token"), f.text("cursor")
	if f.err != nil {
		return nil, f.err
	}
	if token == "" {
		c.sendHelloReply(r.id, helloReply{}, helloState{})
		return sent, nil
	}
	identity, err := c.hub.options.Shop.Verify(token)
	if err != nil {
		return nil, err
	}
	c.identify(identity)
	c.hub.registerUser(c, identity.User)
	c.hub.closeIfBlocked(c)
	body, known, err := c.hub.snapshot(ctx, identity.User, cursor)
	if err != nil {
		c.hub.unregisterUser(c)
		c.identify(shop.Identity{})
		return nil, err
	}
	body.User = &helloUser{ID: identity.User, Name: identity.Name, Role: identity.Role}
	c.sendHelloReply(r.id, body, known)
	return sent, nil
}

// helloState describes the state of a client after the reply to hello: the client has all changes up to the field at.
// If rowsPending is true, at is the old cursor of the client.
type helloState struct {
	at          Cursor
	rowsPending bool
	histories   uint32 // Hub.histories before the first read
}

// snapshot reads the missed changes, then the reservations that have no row yet.
func (h *Hub) snapshot(
	ctx context.Context, user shop.ID, cursor string,
) (body helloReply, state helloState, err error) {
	state.histories = h.histories.Load()
	if cursor == "" {
		state.at = h.currentCursor(ctx)
	} else {
		body.Missed, state.at, state.rowsPending, body.Reset = h.missed(ctx, user, cursor)
	}
	body.Cursor = state.at.String()
	body.Reservations, err = h.options.Shop.PendingReservations(ctx, user)
	return body, state, err
}

// missed reads the orders that changed since the cursor. If reset is true, the client must read all its orders, because
// the cursor is invalid or of another history, or because too many orders changed. If rowsPending is true, the database
// did not respond in time, and the changes follow as events.
func (p *personalEvents) missed(
	ctx context.Context, user shop.ID, cursor string,
) (frames []json.RawMessage, at Cursor, rowsPending, reset bool) {
	after, err := ParseCursor(cursor)
	if err != nil {
		return nil, p.currentCursor(ctx), false, true
	}
	r, err := p.requestRows(ctx, p.querySince(user, after))
	if err != nil {
		return nil, after, true, false
	}
	if !r.covers(after) {
		return nil, r.at, false, true
	}
	for i := range r.changes.Orders {
		frames = append(frames, withCursor(string(OrderFrame(&r.changes.Orders[i])), r.at.String()))
	}
	return frames, r.at, false, false
}

// currentCursor returns the cursor for a client that needs no earlier changes.
func (p *personalEvents) currentCursor(ctx context.Context) Cursor {
	if proven := p.proven.Load(); proven != nil {
		return proven.Cursor
	}
	// Many clients may reconnect at the same time.
	at, err, _ := p.clockReads.Do("", func() (any, error) { return p.clock(ctx) })
	if err != nil {
		return noCursor
	}
	return at.(Cursor)
}

// sendHelloReply sends the reply to hello, then starts banners, hints and personal events.
func (c *client) sendHelloReply(id int64, body helloReply, state helloState) {
	body.Now, body.Version, body.Session = c.hub.options.Shop.Now(), version, c.session
	if body.Missed == nil {
		body.Missed = []json.RawMessage{}
	}
	if body.Reservations == nil {
		body.Reservations = []shop.Reservation{}
	}
	defer c.hub.sendBanner(c) // runs after the unlock
	frame := encode(reply{id, body})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.greeted = true
	if c.out.closing == 0 {
		_ = c.conn.SetReadDeadline(time.Time{}) // checkClientsOnce detects silence from now on
	}
	c.sendLocked(frame)
	if c.identity.User != 0 {
		c.subscribeLocked(state)
	}
}

// subscribeLocked starts personal events, beginning with those that waited for the reply to hello.
func (c *client) subscribeLocked(state helloState) {
	if state.histories != c.hub.histories.Load() { // the rows may belong to the former history
		c.startCloseLocked(CloseResync, maxRetryDelay)
		return
	}
	held := c.state.held
	if state.rowsPending {
		c.state = &personalState{from: state.at, rowsPending: true}
		c.hub.replayQueue.add(c)
	} else {
		c.settleLocked(state.at)
	}
	for _, frame := range held {
		c.sendEventLocked(frame)
	}
}

func (c *client) isGreeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

// identify sets the identity of the connection during hello.
func (c *client) identify(i shop.Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity, c.state = i, nil
	if i.User != 0 {
		c.state = &personalState{helloRunning: true}
	}
}

// opRenew extends the session with a newer token of the same user.
func opRenew(c *client, _ *opContext, r *request) (any, error) {
	user := c.currentIdentity().User
	if user == 0 {
		return nil, shop.Fail(shop.Unauthorized, "log in first: hello has no token")
	}
	f := fieldReader{request: r}
	token := f.text("token")
	if token == "" {
		f.fail("token is missing")
	}
	if f.err != nil {
		return nil, f.err
	}
	identity, err := c.hub.options.Shop.Verify(token)
	if err != nil {
		return nil, err
	}
	if identity.User != user {
		return nil, shop.Fail(shop.Forbidden, "the token belongs to another user")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = identity
	return renewReply{identity.Expires}, nil
}

// buyer returns the user of the connection. It returns Unauthorized if there is no token, or if the token has expired
// or was revoked.
func (c *client) buyer() (shop.ID, error) {
	identity := c.currentIdentity()
	switch {
	case identity.User == 0:
		return 0, shop.Fail(shop.Unauthorized, "log in first: hello has no token")
	case c.hub.options.Shop.Now() >= identity.Expires:
		return 0, shop.Fail(shop.Unauthorized, "the token has expired: renew it")
	case c.hub.options.Shop.Revoked(identity):
		return 0, shop.Fail(shop.Unauthorized, "the token was revoked: log in again")
	}
	return identity.User, nil
}

// boundContext returns the context for an operation of the user. If the token is limited to one sale, so is the
// context; see shop.BoundTo.
func boundContext(c *client, ctx *opContext) context.Context {
	if identity := c.currentIdentity(); identity.Sale != 0 {
		return shop.BoundTo(ctx, &identity)
	}
	return ctx
}
