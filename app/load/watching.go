package load

import (
	"context"
	"fmt"
	"time"
)

const (
	settleDown   = 4 * time.Second        // minimum wait after the last connection before memory is measured
	movesEvery   = 200 * time.Millisecond // interval between changes of the watched sale
	reconnecting = 1024                   // limit of concurrent connections of reconnect
)

// idle measures the server's memory per idle socket.
func (b *bench) idle(ctx context.Context, r *Result) error {
	if b.PID == 0 {
		return fmt.Errorf("set --pid to the process id of the server")
	}
	until := time.Now().Add(max(settleDown, b.For))
	err := b.crowd.attend(ctx, func(*loop) (time.Duration, bool) { return time.Until(until), time.Now().After(until) })
	if err != nil {
		return err
	}
	after, err := b.shares[0].resident()
	if err != nil {
		return err
	}
	r.figure("resident_before_mb", float64(b.before)/(1<<20))
	r.figure("resident_after_mb", float64(after)/(1<<20))
	r.figure("kb_per_socket", float64(after-b.before)/1024/float64(r.Sockets))
	return nil
}

// fanout measures ticks: all shoppers watch one sale, and one of them buys five times per second. The age of a tick is
// its arrival minus its timestamp; both clocks are this machine's.
func (b *bench) fanout(ctx context.Context, r *Result) error {
	parts := make([]*watchers, len(b.crowd.loops))
	stalled := int(b.Stalled * float64(b.Sockets))
	now := time.Now()
	for i := range parts {
		parts[i] = &watchers{
			sale: b.watched[0].String(), stalled: b.crowd.share(stalled, i),
			from: now.Add(warmUp), until: now.Add(warmUp + b.For),
		}
	}
	parts[0].moves = true
	spent, err := b.shares.spent(func() error { return play(ctx, b.crowd, parts) })
	if err != nil {
		return err
	}
	var ages histogram
	frames := 0
	for _, p := range parts {
		ages.merge(&p.ages)
		frames += p.frames
	}
	r.took(&pressed{Ops: ages.total(), Seconds: b.For.Seconds(), Answers: ages})
	if b.PID != 0 && frames > 0 {
		r.figure("server_cpu_us_per_frame", spent[serverName].Seconds()*1e6/float64(frames))
	}
	r.figure("stalled", float64(stalled))
	r.figure("ticks_per_second", r.PerSec/float64(r.Sockets-stalled))
	if ages.total() == 0 {
		r.fail("no tick arrived")
	}
	return nil
}

// watchers is one loop's part of a fan-out.
type watchers struct {
	sale    string
	moves   bool // one shopper of this loop buys
	stalled int
	begun   bool
	from    time.Time
	until   time.Time
	moved   time.Time
	frames  int // all received ticks, including those before the window
	ages    histogram
}

func (p *watchers) act(l *loop) (time.Duration, bool) {
	now := time.Now()
	if !p.begun {
		p.begun = true
		for _, s := range p.deaf(l) {
			l.poller.remove(s.fd)
		}
	}
	if p.moves && now.Sub(p.moved) >= movesEvery {
		p.moved = now
		l.sendBuy(l.sockets[0], p.sale, l.now())
	}
	if now.Before(p.until) {
		return min(movesEvery, p.until.Sub(now)), false
	}
	for _, s := range p.deaf(l) {
		l.drop(s)
	}
	return 0, true
}

// deaf returns the shoppers that do not read.
func (p *watchers) deaf(l *loop) []*socket { return l.sockets[len(l.sockets)-p.stalled:] }

func (p *watchers) onFrame(_ *loop, _ *socket, m message) {
	if m.kind != ticked {
		return
	}
	p.frames++
	if now := time.Now(); now.After(p.from) {
		sent, _ := number(m.after(`"now":`))
		p.ages.record(now.Sub(time.UnixMilli(sent)))
	}
}

// ordersEach is the number of orders per shopper before the reconnect.
const ordersEach = 10

// reconnect buys in one sale after the other with all shoppers, drops all connections after the last reply, and
// measures the time until all are connected again. Every order event must arrive, before or after the drop.
func (b *bench) reconnect(ctx context.Context, r *Result) error {
	sales, err := b.offer(ctx, ordersEach, int64(b.Sockets), 1)
	if err != nil {
		return err
	}
	for _, sale := range texts(sales) {
		if _, err := b.crowd.press(ctx, work{op: buysOf(sale), finish: replied, burst: true}); err != nil {
			return err
		}
	}
	early := 0
	for _, s := range b.crowd.sockets {
		early += s.orders
		b.crowd.loops[s.index%len(b.crowd.loops)].drop(s)
	}
	began := time.Now()
	var parts []*connecting
	spent, err := b.shares.spent(func() (err error) {
		parts, err = b.crowd.connect(ctx, b.crowd.sockets, b.watched, reconnecting)
		return err
	})
	if err != nil {
		return err
	}
	for name, d := range spent {
		r.figure(name+"_cpu_us_per_op", d.Seconds()*1e6/float64(b.Sockets))
	}
	back := time.Since(began).Seconds()
	var handshakes histogram
	missed, resets, rejected := 0, 0, 0
	for _, p := range parts {
		handshakes.merge(&p.handshakes)
		missed += len(p.missed)
		resets += p.resets
		rejected += p.retries
	}
	r.took(&pressed{Ops: int64(b.Sockets), Seconds: back, Answers: handshakes})
	r.figure("all_back_s", back)
	r.figure("heard_before_drop", float64(early))
	r.figure("heard_by_hello", float64(missed))
	r.figure("turned_away_busy", float64(rejected))
	if resets > 0 {
		r.fail(fmt.Sprintf("%d shoppers received reset", resets))
	}
	return nil
}
