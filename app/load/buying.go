package load

import (
	"context"
	"errors"
	"time"

	"stampede/app/shop"
)

// warmUp is the length of the load before the measured window.
const warmUp = 500 * time.Millisecond

// Upper limits of the throughput of a crowd on one machine, in ops per second. They determine the units on sale.
const (
	maxBuyRate   = 150_000
	maxChainRate = 50_000
)

// time measures the time op: the socket layer without Redis.
func (b *bench) time(ctx context.Context, r *Result) error {
	return b.measure(ctx, r, work{op: (*loop).sendTime, finish: replied, rate: b.Rate, warmUp: warmUp, window: b.For})
}

// buy measures reservations.
func (b *bench) buy(ctx context.Context, r *Result) error {
	return b.purchases(ctx, r, maxBuyRate, replied)
}

// chain measures the whole path from the buy to the order event.
func (b *bench) chain(ctx context.Context, r *Result) error {
	return b.purchases(ctx, r, maxChainRate, ordered)
}

// purchases measures buys. finish is the frame that ends an op.
func (b *bench) purchases(ctx context.Context, r *Result, maxRate float64, finish kind) error {
	w, err := b.shopping(ctx, maxRate, warmUp+b.For)
	if err != nil {
		return err
	}
	w.finish = finish
	return b.measure(ctx, r, w)
}

// measure runs the work and records the processor time per op of each process.
func (b *bench) measure(ctx context.Context, r *Result, w work) error {
	var p *workResult
	spent, err := b.measured.measureCPU(func() (err error) {
		p, err = b.crowd.runWork(ctx, w)
		return err
	})
	if err != nil {
		return err
	}
	r.setMeasured(p)
	if p.Unsent > 0 {
		r.setFigure("unsent", float64(p.Unsent))
	}
	if p.Repeats > 0 {
		r.setFigure("repeated_busy", float64(p.Repeats))
	}
	if p.Ops > 0 {
		all := float64(p.Ops) * (w.warmUp + w.window).Seconds() / w.window.Seconds() // including the warm-up
		for name, d := range spent {
			r.setFigure(name+"_cpu_us_per_op", d.Seconds()*1e6/all)
		}
	}
	return nil
}

// saleRounds is the number of rounds; each round uses new sales. Within a round a shopper buys several times (twice in
// the benchmark), so that the records in Redis have a realistic length and the server is not busy loading sales.
const saleRounds = 24

// shopping creates sales for a crowd that buys for the given length, at most at maxRate. Options.Hot sales are in use
// at the same time. It returns the work that buys in these sales.
func (b *bench) shopping(ctx context.Context, maxRate float64, length time.Duration) (work, error) {
	if b.Rate > 0 {
		maxRate = b.Rate
	}
	buysPerShopper := int(maxRate*length.Seconds())/b.Sockets + 2
	limit := (buysPerShopper + saleRounds - 1) / saleRounds
	ids, err := b.offer(ctx, b.Hot*saleRounds, 1<<30, limit)
	if err != nil {
		return work{}, err
	}
	sales := idTexts(ids)
	first := make([]int, len(b.crowd.sockets)) // buys of each shopper before this work
	for i, s := range b.crowd.sockets {
		first[i] = s.bought
	}
	hot := b.Hot
	return work{
		canSend: func(s *socket) bool { return s.bought-first[s.index] < saleRounds*limit },
		op: func(l *loop, s *socket, at time.Duration) {
			round := (s.bought - first[s.index]) / limit
			l.sendBuy(s, sales[round*hot+s.index/len(b.crowd.loops)%hot], at)
		},
		rate: b.Rate, warmUp: warmUp, window: b.For,
	}, nil
}

// soldout sells the only unit to one shopper and then measures the buys of all others.
func (b *bench) soldout(ctx context.Context, r *Result) error {
	sales, err := b.offer(ctx, 1, 1, 1)
	if err != nil {
		return err
	}
	sale := sales[0].String()
	first := b.crowd.sockets[0]
	buyer := func(s *socket) bool { return s == first }
	if _, err = b.crowd.runWork(ctx, work{op: buyOp(sale), joins: buyer, finish: replied, burst: true}); err != nil {
		return err
	}
	return b.measure(ctx, r, work{
		op: buyOp(sale), joins: func(s *socket) bool { return s != first }, finish: replied,
		code: string(shop.SoldOut), rate: b.Rate, warmUp: warmUp, window: b.For,
	})
}

// bursts is the number of bursts. In each burst, all shoppers send one op at the same instant. Bursts of time ops and
// of buys alternate.
const bursts = 4

// burst alternates bursts of time ops and of buys. It merges the latencies of all bursts of one kind.
func (b *bench) burst(ctx context.Context, r *Result) error {
	sales, err := b.offer(ctx, bursts/2, int64(b.Sockets), 1)
	if err != nil {
		return err
	}
	var times, buys workResult
	for i := range bursts {
		into, w := &times, work{op: (*loop).sendTime, finish: replied, burst: true}
		if i%2 == 1 {
			into, w.op = &buys, buyOp(sales[i/2].String())
		}
		p, err := b.crowd.runWork(ctx, w)
		if err != nil {
			return err
		}
		into.add(p)
		time.Sleep(300 * time.Millisecond) // the server finishes the work of this burst before the next one
	}
	r.setMeasured(&buys)
	timeLatency := times.Replies.latency()
	if timeLatency == nil || r.Latency == nil {
		return errors.New("no op got a reply")
	}
	r.setFigure("time_p50_ms", timeLatency.P50)
	r.setFigure("time_p99_ms", timeLatency.P99)
	if timeLatency.P99 > 0 {
		r.setFigure("p99_ratio", r.Latency.P99/timeLatency.P99)
	}
	return nil
}
