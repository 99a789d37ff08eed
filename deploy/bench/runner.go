package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"stampede/app/alipay/sim"
	"stampede/app/load"
	"stampede/app/shop"
)

// Sizes of the crowds, and durations of the scenarios.
const (
	manySockets  = 10_000
	chainSockets = 4_000
	crowdSockets = 18_000
	fewSockets   = 1_000
	stalledShare = 0.01
	steadyBuys   = 5_000.0 // buys per second at which the processor time per buy is compared

	shortTime = 1500 * time.Millisecond
	longTime  = 2 * time.Second
	floodTime = 2 * time.Second

	drainTimeout = 3 * time.Minute
)

// runner performs one round.
type runner struct {
	flags
	stores *stores
	shop   *benchShop
	empty  usage // of Redis, before the first buy
	round  *Round

	reserved int64 // number of reserved buys of this round
}

func (r *runner) run(ctx context.Context) (err error) {
	r.round.Steps = make(map[string][]load.Result)
	if err := r.micro(ctx); err != nil {
		return err
	}
	if r.shop, err = r.stores.openShop(ctx, r.round.Number); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.shop.close(context.WithoutCancel(ctx))) }()
	if _, err := r.tool(ctx, "migrate", "up"); err != nil {
		return err
	}
	if r.empty, err = r.shop.usage(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		name string
		run  func(ctx context.Context) error
	}{
		{"orders", r.orders},
		{"sockets", r.sockets},
		{"chain", r.chain},
		{"crowd", r.crowd},
		// Last, because its node takes payments: no node without a gateway starts on this shop afterwards.
		{"floods", r.floods},
	} {
		began := time.Now()
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.name, err)
		}
		fmt.Fprintf(os.Stderr, "round %d: %s took %.0f s\n", r.round.Number, step.name, time.Since(began).Seconds())
	}
	return nil
}

// setup is a program and its settings.
type setup struct {
	program  string
	settings []string
}

// withNode starts a server, calls work, and stops the server.
func (r *runner) withNode(ctx context.Context, s setup, work func(n *node) error) error {
	n, err := r.start(ctx, s.program, s.settings...)
	if err != nil {
		return err
	}
	return errors.Join(work(n), n.stop())
}

// runAlone runs scenarios on a server that it starts only for these scenarios.
func (r *runner) runAlone(
	ctx context.Context, s setup, step string, scenarios []string, args ...string,
) error {
	return r.withNode(ctx, s, func(n *node) error {
		_, err := r.load(ctx, n, step, scenarios, args...)
		return err
	})
}

func (r *runner) socketsFlag(sockets int) string {
	return "--sockets=" + strconv.Itoa(max(20, int(float64(sockets)*r.scale)))
}

func (r *runner) durationFlag(d time.Duration) string {
	return "--for=" + max(300*time.Millisecond, time.Duration(float64(d)*r.scale)).String()
}

var (
	allRoles  = setup{program: programName}
	apiOnly   = setup{programName, []string{"STAMPEDE_ROLES=api"}}
	simpleAPI = setup{simpleName, []string{"STAMPEDE_ROLES=api", simpleSwitch}}
	simpleAll = setup{simpleName, []string{simpleSwitch}}
)

// orders measures the memory and the log of Redis per order in a fresh shop, without a backlog: each reservation
// becomes a row at once.
func (r *runner) orders(ctx context.Context) error {
	return r.withNode(ctx, allRoles, func(n *node) error {
		found, before, after, err := r.loadChain(ctx, n, "orders", 2*longTime)
		if err != nil {
			return err
		}
		orders := float64(found.Orders)
		r.round.RedisBytesPerOrder = (after.data - before.data) / orders
		r.round.RedisLogPerOrder = (after.logged - before.logged) / 1024 / orders
		return nil
	})
}

// loadChain runs the scenario chain and returns the usage of Redis before and after it.
func (r *runner) loadChain(ctx context.Context, n *node, step string, duration time.Duration) (
	found load.Result, before, after usage, err error,
) {
	if before, err = r.shop.usage(ctx); err != nil {
		return found, before, after, err
	}
	all, err := r.load(ctx, n, step, []string{"chain"}, r.socketsFlag(chainSockets), r.durationFlag(duration))
	if err != nil {
		return found, before, after, err
	}
	after, err = r.shop.usage(ctx)
	return all[0], before, after, err
}

// sockets measures a node with the role api alone. The baselines are `time` ops over the same sockets and one script
// call per buy.
func (r *runner) sockets(ctx context.Context) error {
	err := r.reservations(ctx)
	if err == nil {
		err = r.runAlone(ctx, simpleAPI, "sockets-simple", []string{"buy"}, r.socketsFlag(manySockets), r.durationFlag(longTime),
			"--no-wait")
	}
	return err
}

// reservations measures a node with the role api alone; the baseline is `time` ops over the same sockets.
func (r *runner) reservations(ctx context.Context) error {
	return r.runAlone(ctx, apiOnly, "sockets", []string{"time", "buy", "soldout", "burst"},
		r.socketsFlag(manySockets), r.durationFlag(longTime), "--no-wait")
}

// floods measures how much a flood of forged payment notifications, and a flood of logins, slows buys. The crowd is
// large enough to keep the node busy: each socket may send 20 ops a second at most.
func (r *runner) floods(ctx context.Context) error {
	keys, err := sim.NewKeys()
	if err != nil {
		return err
	}
	// No server listens at this address: a forged notification causes no request to the gateway.
	if r.shop.settings, err = keys.Environ("http://127.0.0.1:1"); err != nil {
		return err
	}
	defer func() { r.shop.settings = nil }()
	return r.runAlone(ctx, apiOnly, "floods", []string{"forged", "logins"}, r.socketsFlag(chainSockets),
		r.durationFlag(floodTime), "--no-wait")
}

// chain drains the backlog of the previous step, then measures complete orders: at full speed, at half
// speed, and on a node that handles each order separately.
func (r *runner) chain(ctx context.Context) error {
	err := r.withNode(ctx, allRoles, func(n *node) error {
		if err := r.drain(ctx); err != nil {
			return err
		}
		found, before, after, err := r.loadChain(ctx, n, "chain", longTime)
		if err != nil {
			return err
		}
		r.round.RedisBytesAfterBacklog = (after.data - r.empty.data) / float64(r.reserved)
		r.round.RedisMicrosPerOrder = (after.seconds - before.seconds) * 1e6 / float64(found.Orders)
		half := fmt.Sprintf("--rate=%.0f", found.PerSec/2)
		_, err = r.load(ctx, n, "chain-half", []string{"chain"}, r.socketsFlag(chainSockets), r.durationFlag(longTime), half)
		return err
	})
	if err != nil {
		return err
	}
	return r.runAlone(ctx, simpleAll, "chain-simple", []string{"chain"}, r.socketsFlag(chainSockets), r.durationFlag(longTime))
}

// crowd compares the same buys over few and over many sockets, then measures crowdSockets sockets on a fresh node.
func (r *runner) crowd(ctx context.Context) error {
	rate := "--rate=" + strconv.FormatFloat(max(50, steadyBuys*r.scale), 'f', 0, 64)
	stalled := "--stalled=" + strconv.FormatFloat(stalledShare, 'f', -1, 64)
	err := r.withNode(ctx, allRoles, func(n *node) error {
		_, err := r.load(ctx, n, "few", []string{"buy"}, r.socketsFlag(fewSockets), r.durationFlag(shortTime), rate)
		if err == nil {
			_, err = r.load(ctx, n, "many", []string{"buy"}, r.socketsFlag(crowdSockets), r.durationFlag(shortTime), rate)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.withNode(ctx, allRoles, func(n *node) error {
		scenarios := []string{"idle", "fanout", "reconnect"}
		_, err := r.load(ctx, n, "crowd", scenarios, r.socketsFlag(crowdSockets), r.durationFlag(longTime), stalled)
		if err == nil {
			err = r.verifySettled(ctx)
		}
		return err
	})
}

// drain waits until every reservation has its row, and stores the rate.
func (r *runner) drain(ctx context.Context) error {
	began := time.Now()
	first, err := r.shop.waiting(ctx)
	if err != nil {
		return err
	}
	for left := first; left > 0; {
		if time.Since(began) > drainTimeout {
			return fmt.Errorf("%d reservations still wait after %v, want 0", left, drainTimeout)
		}
		if !shop.Sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
		if left, err = r.shop.waiting(ctx); err != nil {
			return err
		}
	}
	r.round.DrainedPerSec = float64(first) / time.Since(began).Seconds()
	return r.verifySettled(ctx)
}

// verifySettled verifies that every reserved buy of this round is a pending order (P2), that every order was published,
// and that the audit of all sales passes (P1).
func (r *runner) verifySettled(ctx context.Context) error {
	rows, err := r.shop.count(ctx, "SELECT COUNT(*) FROM orders WHERE state = 'pending'")
	if err != nil {
		return err
	}
	if rows != r.reserved {
		return fmt.Errorf("%d buys were reserved, but %d pending orders exist", r.reserved, rows)
	}
	began := time.Now()
	for {
		unpublished, err := r.shop.count(ctx, "SELECT COUNT(*) FROM orders WHERE unpublished_since IS NOT NULL")
		switch {
		case err != nil:
			return err
		case unpublished == 0:
			_, err := r.tool(ctx, "audit")
			return err
		case time.Since(began) > drainTimeout:
			return fmt.Errorf("%d orders are unpublished, want 0", unpublished)
		}
		time.Sleep(50 * time.Millisecond)
	}
}
