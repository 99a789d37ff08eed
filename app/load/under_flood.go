package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	floodWindows = 2   // number of windows with the flood; there are as many windows without it
	floodShare   = 0.9 // minimum share of the planned requests that must be sent
)

// underFlood measures reservations in alternating windows with and without a flood. The flood sends rate requests per
// second; the function request returns the n-th request. The results are the merged counts of all floods and their
// total duration in seconds.
func (b *bench) underFlood(ctx context.Context, r *Result, rate float64, request func(n int) []byte) (
	all *flood, seconds float64, err error,
) {
	window := b.For / (2 * floodWindows)
	w, err := b.shopping(ctx, maxBuyRate, 2*floodWindows*(warmUp+window))
	if err != nil {
		return nil, 0, err
	}
	w.finish, w.window = replied, window
	baseline, flooded := &windowResults{}, &windowResults{}
	all = &flood{responses: make(map[string]int), losses: make(map[string]int)}
	var duration time.Duration
	addresses := 0
	for i := range 2 * floodWindows {
		if i%4 == 0 || i%4 == 3 { // alternate the order, so that a gradual slowdown affects both sides equally
			if err := baseline.measure(b.measured,
				func() (*workResult, error) { return b.crowd.runWork(ctx, w) }); err != nil {
				return nil, 0, err
			}
			continue
		}
		f, err := newFlood(b.crowd.target, request, rate, warmUp+window)
		if err != nil {
			return nil, 0, err
		}
		addresses += f.addresses
		err = flooded.measure(b.measured, func() (*workResult, error) {
			p, took, err := b.runUnderFlood(ctx, w, f)
			duration += took
			return p, err
		})
		f.close()
		if err != nil {
			return nil, 0, err
		}
		all.add(f)
	}
	r.setMeasured(&flooded.all)
	rateWithout, rateWith := median(baseline.rates), median(flooded.rates)
	r.setFigure("buys_per_second_without", rateWithout)
	r.setFigure("buys_per_second_with", rateWith)
	if rateWithout > 0 {
		r.setFigure("ratio", rateWith/rateWithout)
	}
	if b.PID != 0 {
		r.setFigure("server_cpu_us_per_buy_without", baseline.microsPerBuy(w))
		r.setFigure("server_cpu_us_per_buy_with", flooded.microsPerBuy(w))
	}
	r.setFigure(r.Scenario+"_addresses", float64(addresses))
	r.checkFlood(all, rate, duration)
	return all, duration.Seconds(), nil
}

// windowResults is the result of the windows with or without the flood.
type windowResults struct {
	rates []float64 // buys per second of each window
	all   workResult
	spent time.Duration // processor time of the server
}

func (r *windowResults) measure(measured processes, run func() (*workResult, error)) error {
	var p *workResult
	spent, err := measured.measureCPU(func() (err error) {
		p, err = run()
		return err
	})
	if err != nil {
		return err
	}
	r.rates = append(r.rates, float64(p.Ops)/p.Seconds)
	r.all.add(p)
	r.spent += spent[serverName]
	return nil
}

// microsPerBuy returns the server's processor time per buy in µs, including the warm-ups.
func (r *windowResults) microsPerBuy(w work) float64 {
	buys := float64(r.all.Ops) * (w.warmUp + w.window).Seconds() / w.window.Seconds()
	return r.spent.Seconds() * 1e6 / max(1, buys)
}

// runUnderFlood runs the work during the flood and returns how long the flood sent.
func (b *bench) runUnderFlood(
	ctx context.Context, w work, f *flood,
) (p *workResult, duration time.Duration, err error) {
	stop := make(chan struct{})
	var g errgroup.Group
	g.Go(func() (err error) {
		duration, err = f.run(ctx, stop)
		return err
	})
	p, err = b.crowd.runWork(ctx, w)
	close(stop)
	if err != nil {
		return nil, 0, errors.Join(err, g.Wait())
	}
	// Meanwhile, shoppers must reply to pings: the last responses may take longer than the server keeps silent sockets.
	err = b.whileReceiving(ctx, g.Wait)
	return p, duration, err
}

// checkFlood fails the result if connections were lost, too few requests were sent, or responses are missing.
func (r *Result) checkFlood(f *flood, rate float64, duration time.Duration) {
	for reason, n := range f.losses {
		r.fail(fmt.Sprintf("%d connections of the flood were lost: %s", n, reason))
	}
	if planned := rate * duration.Seconds(); float64(f.sent) < floodShare*planned {
		r.fail(fmt.Sprintf("the flood was too small: of %.0f requests %d were sent", planned, f.sent))
	}
	if f.waiting > 0 {
		r.fail(fmt.Sprintf("%d requests got no response", f.waiting))
	}
}

func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
