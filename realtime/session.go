package realtime

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"math/rand/v2"
	"time"

	"stampede/app"
)

// newSession names a connection in logs and in the answer to hello. It is no secret.
func newSession() string {
	var b [8]byte
	for i := range b {
		b[i] = byte(rand.Uint32())
	}
	return hex.EncodeToString(b[:])
}

// hello says who is there. For a user the order of the steps is what makes personal events complete:
//
//	own (hints find this connection, and are noted) → log from the cursor → reservations → reply → hints count
//
// An event that is told meanwhile is in the log's answer, or it is noted and the log is read again after the
// reply; a reservation that becomes a row meanwhile is missing from the snapshot, and its event comes.
func (c *client) hello(ctx *opContext, r *request) (any, error) {
	if c.isGreeted() {
		return nil, app.Fail(app.WrongState, "hello was said already")
	}
	asked := time.Now()
	answer, err := c.introduce(ctx, r)
	if err != nil {
		c.prolong(time.Since(asked), err)
	}
	return answer, err
}

// prolong gives a peer whose hello was refused the time for another one: what the answer took on our side does not count,
// and after a fault of ours, which it is asked to wait for, all of its time begins anew.
func (c *client) prolong(took time.Duration, refusal error) {
	c.helloBy = c.helloBy.Add(took)
	if app.AsError(refusal).Code == app.Busy {
		c.helloBy = time.Now().Add(c.hub.options.HelloWithin)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.out.closing == 0 { // there is another deadline for who is being sent away
		_ = c.conn.SetReadDeadline(c.helloBy)
	}
}

func (c *client) introduce(ctx *opContext, r *request) (any, error) {
	token, failed := text("token", r.Token)
	if failed != nil {
		return nil, failed
	}
	cursor, failed := text("cursor", r.Cursor)
	if failed != nil {
		return nil, failed
	}
	if token == "" {
		c.greet(r.id, welcome{}, Cursor{})
		return sent, nil
	}
	identity, err := c.hub.shop.Authenticate(token)
	if err != nil {
		return nil, err
	}
	c.identify(identity)
	c.hub.own(c, identity.User)
	w, at, err := c.snapshot(ctx, identity.User, cursor)
	if err != nil {
		c.hub.disown(c)
		c.identify(Identity{})
		return nil, err
	}
	w.User = &welcomeUser{ID: identity.User, Name: identity.Name, Role: identity.Role}
	c.greet(r.id, w, at)
	return sent, nil
}

// snapshot reads what the user has missed and what waits for a row, in this order. An unreadable cursor counts as
// one whose log is gone.
func (c *client) snapshot(ctx context.Context, user app.ID, cursor string) (welcome, Cursor, error) {
	var w welcome
	var after Cursor
	if cursor != "" {
		var err error
		after, err = ParseCursor(cursor)
		w.Reset = err != nil
	}
	spans, err := c.hub.log.Since(ctx, question{user: user, after: after})
	if err != nil {
		return w, Cursor{}, unreachable(err)
	}
	s := spans[0]
	w.Reset = w.Reset || s.reset
	for _, e := range s.events {
		w.Missed = append(w.Missed, e.event.frame(e.cursor))
	}
	if w.Reservations, err = c.hub.shop.Greet(ctx, user); err != nil {
		return w, Cursor{}, err
	}
	return w, s.end, nil
}

// greet sends the answer to hello; from here on news and personal events come.
func (c *client) greet(id int64, w welcome, at Cursor) {
	w.Now, w.Version, w.Session = c.hub.shop.Now(), version, c.session
	if !at.isZero() {
		w.Cursor = at.String()
	}
	if w.Missed == nil {
		w.Missed = []json.RawMessage{}
	}
	if w.Reservations == nil {
		w.Reservations = []app.Reservation{}
	}
	frame := encode(reply{id, w})
	c.mu.Lock()
	c.greeted = true
	if c.out.closing == 0 {
		_ = c.conn.SetReadDeadline(time.Time{}) // from here on the keeper listens for silence
	}
	c.personal.at, c.personal.greets = at, false
	behind := c.personal.behind
	c.sendLocked(frame)
	c.mu.Unlock()
	if behind {
		c.hub.behind.add(c)
	}
}

func (c *client) isGreeted() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.greeted
}

// identify sets whose connection it is while hello is under way.
func (c *client) identify(i Identity) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = i
	c.personal = personal{greets: i.User != 0}
}

// renew prolongs the session with a newer token of the same user.
func (c *client) renew(_ *opContext, r *request) (any, error) {
	user, _ := c.user()
	if user == 0 {
		return nil, app.Fail(app.Unauthorized, "log in first: hello had no token")
	}
	token, failed := text("token", r.Token)
	if failed != nil {
		return nil, failed
	}
	if token == "" {
		return nil, app.Fail(app.BadRequest, "token is missing")
	}
	identity, err := c.hub.shop.Authenticate(token)
	if err != nil {
		return nil, err
	}
	if identity.User != user {
		return nil, app.Fail(app.Forbidden, "the token belongs to another user")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.identity = identity
	return renewed{identity.Expires}, nil
}

// buyer is whose connection it is, if the token still holds.
func (c *client) buyer() (app.ID, error) {
	user, expires := c.user()
	if user == 0 {
		return 0, app.Fail(app.Unauthorized, "log in first: hello had no token")
	}
	if c.hub.shop.Now() >= expires {
		return 0, app.Fail(app.Unauthorized, "the token has ended: renew it")
	}
	return user, nil
}
