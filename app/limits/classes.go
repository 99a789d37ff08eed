package limits

import (
	"context"
	"net/netip"

	"stampede/app/shop"
)

// Class is a kind of HTTP requests and socket ops that share limits.
type Class string

// The classes. STAMPEDE_LIMITS and the variables in deploy/RUNBOOK.md set their paces.
const (
	// Buy reserves units: a step in Redis.
	Buy Class = "buy"
	// Pass requests or solves the challenge before a buy: signatures, pictures.
	Pass Class = "pass"
	// List reads slots, sales, products or categories.
	List Class = "list"
	// Watch changes the socket's subscription and sends a snapshot of a slot or of sales.
	Watch Class = "watch"
	// Auth checks or sets passwords, makes tokens or sends emails.
	Auth Class = "auth"
	// Orders reads or changes data of the caller in the database: orders, account, addresses.
	Orders Class = "orders"
	// Pay opens a trade: a locked row, and a signature unless the payment is stored.
	Pay Class = "pay"
	// QR calls the gateway for the code of an order. Its pace for the shop keeps the breaker closed for the queries,
	// closes and refunds of all users.
	QR Class = "qr"
	// Cancel ends an unpaid order: rows and a step in Redis, perhaps a call to the gateway.
	Cancel Class = "cancel"
	// Refund requests money back: a locked row and a posting.
	Refund Class = "refund"
	// Pictures reads a picture from the database. Browsers and proxies cache pictures.
	Pictures Class = "pictures"
)

// Limits has the limits of a class, for sockets and HTTP together. A zero pace is no limit.
type Limits struct {
	User, Addr Pace // per node
	All        Pace // per shop; the serving nodes share it
	Window     Window
}

// Classes has the limits by class. An absent class has no limits.
type Classes map[Class]Limits

// Limiter counts requests by class. Sockets are counted in the memory of the node only: a frame must not cost a round
// trip. HTTP requests of classes with a window are counted in Redis as well.
type Limiter struct {
	classes map[Class]*buckets
	windows *Windows
}

// NewLimiter returns a limiter of a single node; see SetNodes.
func NewLimiter(classes Classes, w *Windows) *Limiter {
	l := &Limiter{classes: make(map[Class]*buckets), windows: w}
	for class, limits := range classes {
		l.classes[class] = newBuckets(limits)
	}
	return l
}

// SetNodes sets how many nodes share the limits of the shop.
func (l *Limiter) SetNodes(nodes int) {
	for _, b := range l.classes {
		b.setNodes(nodes)
	}
	l.windows.SetNodes(nodes)
}

// Take admits an op of the user (0: unknown) from the address, or fails with RateLimited and the time until the next
// op is admitted.
func (l *Limiter) Take(class Class, user shop.ID, addr netip.Addr) error {
	if b := l.classes[class]; b != nil {
		return b.take(user, addr)
	}
	return nil
}

// TakeHTTP is Take for HTTP requests. It checks the limits in memory first, so a flood at one node does not reach
// Redis.
func (l *Limiter) TakeHTTP(class Class, user shop.ID, addr netip.Addr) error {
	b := l.classes[class]
	if b == nil {
		return nil
	}
	if err := b.take(user, addr); err != nil {
		return err
	}
	return l.windows.Take(context.Background(), class, b.limits.Window, user, addr)
}

// buckets limits a class in memory: without a round trip, and without an allocation unless a call is rejected.
type buckets struct {
	limits Limits
	users  *Table[shop.ID]
	addrs  *Addrs
	all    *bucket      // nil: no limit
	now    func() int64 // the clock; one reading for all three limits
}

func newBuckets(l Limits) *buckets {
	b := &buckets{limits: l, users: NewTable[shop.ID](l.User), addrs: NewAddrs(l.Addr), now: sinceStart()}
	if l.All.Rate > 0 {
		b.all = &bucket{steps: l.All.steps()}
	}
	return b
}

func (b *buckets) setNodes(nodes int) { b.all.setPace(b.limits.All.Shared(nodes)) }

// take counts the narrowest limit first. If a wider limit rejects, the tokens of the narrower ones are returned: a
// flooding user takes no tokens of the address, and a flooding address takes no tokens of the shop.
func (b *buckets) take(user shop.ID, addr netip.Addr) error {
	now, users := b.now(), b.users
	if user == 0 {
		users = nil // anonymous callers do not share a bucket
	}
	if wait := users.takeAt(user, now); wait > 0 {
		return RateLimitError("too many requests from your account", wait)
	}
	if wait := b.addrs.takeAt(addr, now); wait > 0 {
		users.GiveBack(user)
		return RateLimitError("too many requests from your address", wait)
	}
	if wait := b.all.takeAt(now); wait > 0 {
		users.GiveBack(user)
		b.addrs.GiveBack(addr)
		return RateLimitError("too many requests of this class in the shop right now", wait)
	}
	return nil
}
