package streams

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stampede/app/shop"
)

// deliveries is the model of a partition's stream: each accepted order is undelivered, then pending for a consumer,
// then settled.
type deliveries struct {
	f         *fixture
	sale      *shop.Sale
	gate      *Gate
	consumers map[string]*Consumer

	accepted []shop.ID           // in the order of the stream
	users    map[shop.ID]shop.ID // by order
	read     int                 // number of delivered orders
	entries  []shop.Entry        // the delivered entries
	owner    map[shop.ID]string  // consumer of each pending order
	keys     map[string]struct{} // user and key of accepted buys
	settled  int64
}

// P2, P7, I4: orders are bought, repeated, delivered, settled twice or by another consumer, trimmed, left by a dead
// consumer and claimed, in any sequence. Every order is delivered once, in order, and stays pending until it is
// settled. XINFO reports this, even after Redis has lost the read counter of the group.
func TestDeliveriesFollowTheModel(t *testing.T) {
	t.Parallel()
	f := onRedis(t)
	f.ctx = t.Context() // the long form exceeds the time limit of other tests
	rapid.Check(t, func(rt *rapid.T) {
		f.must(f.client.FlushDB(f.ctx).Err())
		f.inventory = f.node(f.client) // the previous inventory has seen entries that were deleted (I8)
		f.must(begin(f.ctx, f.inventory, 1, testEpoch))
		m := &deliveries{
			f: f, gate: f.gate(f.inventory), sale: f.openSale(1000, func(s *shop.Sale) { s.Limit, s.Cap = 99, 99 }),
			consumers: make(map[string]*Consumer), users: make(map[shop.ID]shop.ID), owner: make(map[shop.ID]string),
			keys: make(map[string]struct{}),
		}
		for _, name := range []string{"one", "two"} {
			m.restart(name)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"reserve": m.reserve, "deliver": m.deliver, "settle": m.settle, "crash": m.crash, "claim": m.claim,
			"trim": m.trim, "forget": m.loseReadCounter, "": m.compare,
		})
	})
}

// restart makes a consumer with the name of an earlier one and no other state.
func (de *deliveries) restart(name string) *Consumer {
	c := de.f.consumer(name, newFakeHandler())
	c.options.ClaimIdle = 0 // every pending entry may be claimed
	de.consumers[name] = c
	return c
}

func (de *deliveries) anyConsumer(rt *rapid.T) *Consumer {
	return de.consumers[rapid.SampledFrom([]string{"one", "two"}).Draw(rt, "consumer")]
}

// pendingOf returns the pending orders of one consumer, or of all, in the order of the stream.
func (de *deliveries) pendingOf(name string) []shop.ID {
	var held []shop.ID
	for _, id := range de.accepted[:de.read] {
		if by := de.owner[id]; by != "" && (name == "" || by == name) {
			held = append(held, id)
		}
	}
	return held
}

// reserve buys under a new key, or under a used one.
func (de *deliveries) reserve(rt *rapid.T) {
	b := buyOf(de.sale, shop.ID(rapid.IntRange(1, 3).Draw(rt, "user")), 1,
		fmt.Sprintf("key-%04d", rapid.IntRange(1, 20).Draw(rt, "key")))
	d, err := reserveUntilKnown(de.f.ctx, de.gate, b)
	name := fmt.Sprintf("%d/%s", b.User, b.Key)
	_, known := de.keys[name]
	if want := map[bool]shop.Verdict{false: shop.VerdictReserved, true: shop.VerdictRepeated}[known]; err != nil ||
		d.Verdict != want {
		differ(rt, "P4: a buy", "%+v: %+v, want verdict %d, %v", b, d, want, err)
	}
	if !known {
		de.keys[name] = struct{}{}
		de.users[b.Order] = b.User
		de.accepted = append(de.accepted, b.Order)
	}
}

// deliver reads the next batch of new entries.
func (de *deliveries) deliver(rt *rapid.T) {
	if de.read == len(de.accepted) {
		rt.Skip("nothing is new")
	}
	c := de.anyConsumer(rt)
	c.pendingCursor, c.options.Batch = "", rapid.Int64Range(1, 4).Draw(rt, "batch")
	got, err := c.read(de.f.ctx)
	next := de.accepted[de.read:min(len(de.accepted), de.read+int(c.options.Batch))]
	de.want(rt, "delivered", got, next, err)
	de.entries = append(de.entries, got...)
	de.read += len(next)
	for _, id := range next {
		de.owner[id] = c.name
	}
}

// settle lets a consumer settle some delivered entries, of any consumer, settled before or not.
func (de *deliveries) settle(rt *rapid.T) {
	if len(de.entries) == 0 {
		rt.Skip("nothing was delivered")
	}
	some := rapid.SliceOfN(rapid.SampledFrom(de.entries), 1, 4).Draw(rt, "entries")
	if _, err := (settlingHandler{newFakeHandler(), de.f.inventory}).Fulfil(de.f.ctx, some); err != nil {
		differ(rt, "I4: settling", "%v", err)
	}
	for _, e := range some {
		if de.owner[e.Order] != "" {
			delete(de.owner, e.Order)
			de.settled++
		}
	}
}

// crash ends a consumer without a shutdown. The next consumer with its name finds its pending entries.
func (de *deliveries) crash(rt *rapid.T) {
	c := de.restart(de.anyConsumer(rt).name)
	c.options.Batch = 3
	var got []shop.Entry
	for c.pendingCursor != "" {
		more, err := c.read(de.f.ctx)
		if err != nil {
			differ(rt, "P2: reading pending entries", "%v", err)
		}
		got = append(got, more...)
	}
	de.want(rt, "found as pending", got, de.pendingOf(c.name), nil)
}

// claim lets a consumer take over the oldest pending entries of all consumers.
func (de *deliveries) claim(rt *rapid.T) {
	c := de.anyConsumer(rt)
	c.options.Batch = rapid.Int64Range(1, 4).Draw(rt, "batch")
	c.claimFrom = claimStart
	got, err := c.claim(de.f.ctx)
	oldest := de.pendingOf("")
	oldest = oldest[:min(len(oldest), int(c.options.Batch))]
	de.want(rt, "claimed", got, oldest, err)
	for _, id := range oldest {
		de.owner[id] = c.name
	}
}

// trim trims the stream as far as allowed.
func (de *deliveries) trim(rt *rapid.T) {
	trimmer := &Trimmer{conn: de.f.inventory.connection, allowed: always, retention: -time.Minute, maxLength: 1}
	if _, err := trimmer.runOnce(de.f.ctx); err != nil {
		differ(rt, "P7: trimming", "%v", err)
	}
}

// loseReadCounter makes entries-read wrong, as after a replay of the append-only file. LagFixer corrects it.
func (de *deliveries) loseReadCounter(rt *rapid.T) {
	stream := de.f.inventory.parts[1].keys.orders
	groups, err := de.f.client.XInfoGroups(de.f.ctx, stream).Result()
	if err == nil {
		err = de.f.client.Do(de.f.ctx, "XGROUP", "SETID", stream, group, groups[0].LastDeliveredID,
			"ENTRIESREAD", rapid.IntRange(0, len(de.accepted)).Draw(rt, "entries read")).Err()
	}
	if err == nil {
		_, err = NewLagFixer(de.f.inventory).runOnce(de.f.ctx)
	}
	if err != nil {
		differ(rt, "P7: correcting the lag", "%v", err)
	}
}

func (de *deliveries) want(rt *rapid.T, what string, got []shop.Entry, want []shop.ID, err error) {
	orders := make([]shop.ID, 0, len(got))
	for i := range got {
		orders = append(orders, got[i].Order)
	}
	if err != nil || !slices.Equal(orders, want) {
		differ(rt, "P2: entries "+what, "%v, want %v, %v", orders, want, err)
	}
}

// compare compares all reads about deliveries with the model.
func (de *deliveries) compare(rt *rapid.T) {
	lag, pending := int64(len(de.accepted)-de.read), int64(len(de.owner))
	if l, p, read := de.f.groupInfo(); l != lag || p != pending {
		differ(rt, "P7: XINFO", "lag %v pending %v (read %v), the model has %d and %d", l, p, read, lag, pending)
	}
	if c := de.f.counters(de.sale); c.Done != de.settled || c.Tickets != int64(len(de.accepted)) {
		differ(rt, "I4: done", "%d of %d tickets are done, the model has %d of %d", c.Done, c.Tickets, de.settled,
			len(de.accepted))
	}
	unsettled := make(map[shop.ID]int)
	for i, id := range de.accepted {
		if i >= de.read || de.owner[id] != "" {
			unsettled[de.users[id]]++
		}
	}
	for user := shop.ID(1); user <= 3; user++ {
		got, err := de.f.queue().Waiting(de.f.ctx, user)
		if err != nil || len(got) != unsettled[user] {
			differ(rt, "P2: the waiting orders of a user", "user %s waits for %d orders, the model has %d, %v", user,
				len(got), unsettled[user], err)
		}
	}
}
