package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"stampede/app/load"
)

// crowdInterval is the interval of the pairs that also run the crowd scenarios. These scenarios take longer than all
// other steps together.
const crowdInterval = 3

// side is one of the two programs that run in turns.
type side struct {
	name, bin string
	found     []figures // per pair
}

// comparisons are the compared figures: the name in the table, and the name in figures.
var comparisons = []struct {
	name, figure string
	digits       int
}{
	{"chain, orders a second", "orders/chain per_second", 0},
	{"processor time of an order, µs", "order_us", 1},
	{"of it the server", "orders/chain server_cpu_us_per_op", 1},
	{"of it Redis", "orders/chain redis_cpu_us_per_op", 1},
	{"of it MariaDB", "orders/chain database_cpu_us_per_op", 1},
	{"of it the generator", "orders/chain generator_cpu_us_per_op", 1},
	{"append-only file of Redis, KB per order", "redis_log_kb_per_order", 2},
	{"memory of Redis, bytes per open order", "redis_bytes_per_open_order", 0},
	{"a `time` op, µs of the server", "sockets/time server_cpu_us_per_op", 1},
	{"a reserved buy, µs of the server", "sockets/buy server_cpu_us_per_op", 1},
	{"of it Redis, µs", "sockets/buy redis_cpu_us_per_op", 1},
	{"a sold-out reply, µs of the server", "sockets/soldout server_cpu_us_per_op", 1},
	{"reserved buys a second", "sockets/buy per_second", 0},
	{"sold-out replies a second", "sockets/soldout per_second", 0},
	{"burst, p99 of buys, ms", "sockets/burst p99_ms", 0},
	{"memory of an idle socket, KB", "crowd/idle kb_per_socket", 1},
	{"all sockets back, ten orders each, s", "crowd/reconnect all_back_s", 2},
	{"of it the server, µs per socket", "crowd/reconnect server_cpu_us_per_op", 0},
	{"of it MariaDB, µs per socket", "crowd/reconnect database_cpu_us_per_op", 0},
}

// pairs measures two programs in turns, each time on fresh databases: first the program in f.old, then the program in
// f.bin; every second pair reverses the order. Each program uses its own load generator.
func pairs(ctx context.Context, f flags) error {
	s, err := openStores(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	sides := []*side{{name: "old", bin: f.old}, {name: "new", bin: f.bin}}
	for pair := range f.pairs {
		turn := slices.Clone(sides)
		if pair%2 == 1 {
			slices.Reverse(turn)
		}
		for i, side := range turn {
			f.bin = side.bin
			r := &runner{flags: f, stores: s, round: &Round{Number: 1 + 2*pair + i}}
			found, err := r.pairSide(ctx, pair%crowdInterval == 0)
			if err != nil {
				return fmt.Errorf("pair %d, %s: %w", pair+1, side.name, err)
			}
			side.found = append(side.found, found)
			fmt.Fprintf(os.Stderr, "pair %d of %d, %s: %.0f orders a second, %.1f µs\n",
				pair+1, f.pairs, side.name, found["orders/chain per_second"], found["order_us"])
		}
	}
	_, err = os.Stdout.Write(compare(sides[0], sides[1]))
	return err
}

// pairSide measures the chain, then a node with the role api alone, each on a fresh node. If crowd is set, it also
// measures idle sockets and reconnects with crowdSockets sockets.
func (r *runner) pairSide(ctx context.Context, crowd bool) (found figures, err error) {
	r.round.Steps = make(map[string][]load.Result)
	if r.shop, err = r.stores.openShop(ctx, r.round.Number); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.shop.close(context.WithoutCancel(ctx))) }()
	if _, err := r.tool(ctx, "migrate", "up"); err != nil {
		return nil, err
	}
	if err = r.orders(ctx); err == nil {
		err = r.reservations(ctx)
	}
	if err == nil && crowd {
		err = r.withNode(ctx, allRoles, func(n *node) error {
			_, err := r.load(ctx, n, "crowd", []string{"idle", "reconnect"}, r.socketsFlag(crowdSockets), r.durationFlag(longTime))
			return err
		})
	}
	if err != nil {
		return nil, err
	}
	found = r.round.figures()
	for _, s := range []string{"server", "redis", "database"} { // the generator is not measured
		found["order_us"] += found["orders/chain "+s+"_cpu_us_per_op"]
	}
	return found, nil
}

// compare renders the table: medians of both sides, then the median and the spread of the ratios of the pairs.
func compare(old, fresh *side) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "| %d pairs | old | new | new ÷ old | spread |\n|---|---|---|---|---|\n", len(old.found))
	for _, c := range comparisons {
		var before, after, ratios []float64
		for i := range old.found {
			oldValue, measured := old.found[i][c.figure]
			if !measured {
				continue
			}
			newValue := fresh.found[i][c.figure]
			before, after = append(before, oldValue), append(after, newValue)
			ratios = append(ratios, newValue/oldValue)
		}
		for _, all := range [][]float64{before, after, ratios} {
			slices.Sort(all)
		}
		if len(ratios) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s–%s |\n", c.name, digits(medianOfSorted(before), c.digits),
			digits(medianOfSorted(after), c.digits), digits(medianOfSorted(ratios), 2), digits(ratios[0], 2),
			digits(ratios[len(ratios)-1], 2))
	}
	return b.Bytes()
}
