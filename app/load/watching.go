package load

import (
	"context"
	"fmt"
	"time"
)

const (
	minSettleTime           = 4 * time.Second        // minimum wait after the last connection before memory is measured
	buyInterval             = 200 * time.Millisecond // interval between changes of the watched sale
	maxConcurrentReconnects = 1024                   // connections that the scenario reconnect opens at the same time
)

// idle measures the server's memory per idle socket.
func (b *bench) idle(ctx context.Context, r *Result) error {
	if b.PID == 0 {
		return fmt.Errorf("set --pid to the process id of the server")
	}
	until := time.Now().Add(max(minSettleTime, b.For))
	err := b.crowd.receiveUntil(ctx,
		func(*loop) (time.Duration, bool) { return time.Until(until), time.Now().After(until) })
	if err != nil {
		return err
	}
	after, err := b.measured[0].resident()
	if err != nil {
		return err
	}
	r.setFigure("resident_before_mb", float64(b.memoryBefore)/(1<<20))
	r.setFigure("resident_after_mb", float64(after)/(1<<20))
	r.setFigure("kb_per_socket", float64(after-b.memoryBefore)/1024/float64(r.Sockets))
	return nil
}

// fanout measures ticks: all shoppers watch one sale, and one of them buys five times per second. The age of a tick is
// its arrival minus its timestamp; both clocks are this machine's.
func (b *bench) fanout(ctx context.Context, r *Result) error {
	parts := make([]*watchPhase, len(b.crowd.loops))
	stalled := int(b.Stalled * float64(b.Sockets))
	now := time.Now()
	for i := range parts {
		parts[i] = &watchPhase{
			sale: b.watched[0].String(), stalled: b.crowd.share(stalled, i),
			from: now.Add(warmUp), until: now.Add(warmUp + b.For),
		}
	}
	parts[0].buys = true
	spent, err := b.measured.measureCPU(func() error { return runPhase(ctx, b.crowd, parts) })
	if err != nil {
		return err
	}
	var ages histogram
	frames := 0
	for _, p := range parts {
		ages.merge(&p.ages)
		frames += p.frames
	}
	r.setMeasured(&workResult{Ops: ages.total(), Seconds: b.For.Seconds(), Replies: ages})
	if b.PID != 0 && frames > 0 {
		r.setFigure("server_cpu_us_per_frame", spent[serverName].Seconds()*1e6/float64(frames))
	}
	r.setFigure("stalled", float64(stalled))
	r.setFigure("ticks_per_second", r.PerSec/float64(r.Sockets-stalled))
	if ages.total() == 0 {
		r.fail("no tick arrived")
	}
	return nil
}

// watchPhase is one loop's part of a fan-out.
type watchPhase struct {
	sale    string
	buys    bool // one shopper of this loop buys
	stalled int
	started bool
	from    time.Time
	until   time.Time
	lastBuy time.Time
	frames  int // number of received ticks, including the ticks before the window
	ages    histogram
}

func (p *watchPhase) step(l *loop) (time.Duration, bool) {
	now := time.Now()
	if !p.started {
		p.started = true
		for _, s := range p.stalledSockets(l) {
			l.poller.remove(s.fd)
		}
	}
	if p.buys && now.Sub(p.lastBuy) >= buyInterval {
		p.lastBuy = now
		l.sendBuy(l.sockets[0], p.sale, l.now())
	}
	if now.Before(p.until) {
		return min(buyInterval, p.until.Sub(now)), false
	}
	for _, s := range p.stalledSockets(l) {
		l.drop(s)
	}
	return 0, true
}

// stalledSockets returns the shoppers that do not read.
func (p *watchPhase) stalledSockets(l *loop) []*socket { return l.sockets[len(l.sockets)-p.stalled:] }

func (p *watchPhase) onFrame(_ *loop, _ *socket, m message) {
	if m.kind != ticked {
		return
	}
	p.frames++
	if now := time.Now(); now.After(p.from) {
		sent, _ := number(m.after(`"now":`))
		p.ages.record(now.Sub(time.UnixMilli(sent)))
	}
}

// ordersPerShopper is the number of orders per shopper before the reconnect.
const ordersPerShopper = 10

// reconnect buys in one sale after the other with all shoppers and drops all connections after the last reply. It
// measures the time until all shoppers are connected again. Every order event must arrive, before or after the drop.
func (b *bench) reconnect(ctx context.Context, r *Result) error {
	sales, err := b.offer(ctx, ordersPerShopper, int64(b.Sockets), 1)
	if err != nil {
		return err
	}
	for _, sale := range idTexts(sales) {
		if _, err := b.crowd.runWork(ctx, work{op: buyOp(sale), finish: replied, burst: true}); err != nil {
			return err
		}
	}
	ordersBefore := 0
	for _, s := range b.crowd.sockets {
		ordersBefore += s.orders
		b.crowd.loops[s.index%len(b.crowd.loops)].drop(s)
	}
	began := time.Now()
	var parts []*connectPhase
	spent, err := b.measured.measureCPU(func() (err error) {
		parts, err = b.crowd.connect(ctx, b.crowd.sockets, b.watched, maxConcurrentReconnects)
		return err
	})
	if err != nil {
		return err
	}
	for name, d := range spent {
		r.setFigure(name+"_cpu_us_per_op", d.Seconds()*1e6/float64(b.Sockets))
	}
	reconnectSeconds := time.Since(began).Seconds()
	var handshakes histogram
	missed, resets, rejected := 0, 0, 0
	for _, p := range parts {
		handshakes.merge(&p.handshakes)
		missed += len(p.missed)
		resets += p.resets
		rejected += p.retries
	}
	r.setMeasured(&workResult{Ops: int64(b.Sockets), Seconds: reconnectSeconds, Replies: handshakes})
	r.setFigure("all_back_s", reconnectSeconds)
	r.setFigure("heard_before_drop", float64(ordersBefore))
	r.setFigure("heard_by_hello", float64(missed))
	r.setFigure("turned_away_busy", float64(rejected))
	if resets > 0 {
		r.fail(fmt.Sprintf("%d shoppers received reset", resets))
	}
	return nil
}
