package realtime

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"stampede/app"
)

// BenchmarkBuy is what a buy costs between its frame and the queued reply, without the shop: decoding, the limits of
// the connection, the op, the reply.
func BenchmarkBuy(b *testing.B) {
	shop := &instantShop{}
	hub := NewHub(Options{Shop: shop, OpsPerSecond: 1e12, OpsBurst: 1 << 40})
	c := newClient(hub, nil, netip.MustParseAddr("192.0.2.1"))
	c.writing, c.greeted = true, true // a writer is at work: replies are only queued
	c.identity = app.Identity{User: 7, Expires: app.MillisOf(time.Now().Add(time.Hour))}
	frame := []byte(`{"id":6,"op":"buy","sale":"7301444403200000101","qty":1,"key":"k-3f9c1d2e"}`)
	b.ReportAllocs()
	for b.Loop() {
		c.handle(frame)
		c.out.queue, c.out.queuedBytes = c.out.queue[:0], 0
	}
}

// instantShop reserves at once.
type instantShop struct{ fakeShop }

func (s *instantShop) Now() app.Millis { return 1 }

func (s *instantShop) Revoked(app.Identity) bool { return false }

func (s *instantShop) BuyThen(_ context.Context, _ app.ID, _ app.BuyRequest, then func(app.Receipt, error)) {
	then(app.Receipt{Order: 7301444480512000257, Ticket: 91, Place: 12, State: app.Reserved}, nil)
}
