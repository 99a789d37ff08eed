package rehearse

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"stampede/app"
)

// expected are the refusals that a healthy sale gives; those of retried mean "not now", and are few.
var (
	expected = []app.Code{"", app.SoldOut, app.LimitReached, app.NotOpen, app.Closed, app.OrderExpired}
	retried  = []app.Code{app.Busy, app.RateLimited}
)

// unevenFrom is how many times its even share of the crowd a node may have before that is worth a word.
const unevenFrom = 1.5

// judge makes the verdict of what was measured.
func (r *run) judge(report app.AuditReport) *Result {
	silent, _ := r.seen.unsettled()
	m := r.seen
	m.mu.Lock()
	defer m.mu.Unlock()
	out := &Result{
		Rehearsal: r.rehearsal, Target: r.Target, ForS: r.For.Seconds(),
		Connect: m.connect.sum(), FirstStock: m.firstStock.sum(), Pass: m.pass.sum(), Answer: m.answer.sum(),
		Order: m.order.sum(), Expiry: m.expiry.sum(),
		Pressed: m.pressed, Reserved: len(m.orders), AnsweredS: busiest(m.bySecond), Refused: m.answers,
		TurnedAway: m.turnedAway, Lost: m.lost, TicksS: r.ticks(),
		Lag: r.boards.lag, Waiting: r.boards.waiting, OldestMS: r.boards.oldestMS, Nodes: r.boards.shares(),
		Audit: &report,
	}
	delete(out.Refused, "")
	r.speed(out)
	r.truth(out, silent, &report)
	r.answers(out, m.unsupported)
	r.nodes(out)
	out.Verdict = Go
	if slices.ContainsFunc(out.Checks, func(c Check) bool { return c.State == Fail }) {
		out.Verdict = NoGo
	}
	return out
}

// ticks is how many ticks a second the middle shopper got in their busiest second.
func (r *run) ticks() float64 {
	counts := make([]int, len(r.shoppers))
	for i, s := range r.shoppers {
		counts[i] = s.busiestSecond()
	}
	slices.Sort(counts)
	return float64(counts[len(counts)/2])
}

// speed compares what was measured with the limits.
func (r *run) speed(out *Result) {
	l := r.Limits
	const more = "more nodes, or larger ones; see what is busy with stampede status while it runs"
	out.within("connect p99", out.Connect.P99, l.Connect, "raise the limits of handshakes and connections, or add nodes")
	out.within("first stock p99", out.FirstStock.P99, l.FirstStock, more)
	out.within("answer p99", out.Answer.P99, l.Answer, more+"; is Redis on a disk that syncs slowly?")
	out.within("order p99", out.Order.P99, l.Order, "more workers, or a faster database; see lag and oldest pending")
	out.within("oldest pending", float64(out.OldestMS), l.Oldest, "more workers, or a faster database")
	out.atLeast("ticks", out.TicksS, l.Ticks, "/s", "raise the tick rate (stampede switch), or add nodes")
	out.atLeast("answers", float64(out.AnsweredS), l.Rate, "/s", more)
	if out.Expiry.N > 0 {
		out.within("expiry late by", out.Expiry.Max, l.Expiry, "are sweepers running? see STAMPEDE_ROLES")
		return
	}
	out.NotRehearsed = append(out.NotRehearsed, "that unpaid units come back: no order expired; rehearse for longer")
}

// truth is about what was promised.
func (r *run) truth(out *Result, silent int, report *app.AuditReport) {
	out.none("reservations without order", silent,
		fmt.Sprintf("%d answered reservations did not become an order that their shopper heard of", silent),
		"are workers running? see STAMPEDE_ROLES, stampede dead list and the logs")
	out.none("audit", len(report.Failures), strings.Join(report.Failures, "; "), "open no sale before this is understood")
	out.none("dead letters", int(r.boards.dead), fmt.Sprintf("%d entries could not be written", r.boards.dead),
		"read the logs of the workers")
	out.none("connections lost", total(out.Lost), kinds(out.Lost), "read the logs of nodes and proxies")
	if len(r.seen.orders) == 0 {
		out.none("nothing was bought", 1, "no press of Buy was answered with a reservation", "see the refusals")
	}
}

// answers is about refusals that a healthy sale does not give, or not often.
func (r *run) answers(out *Result, unsupported int) {
	odd, again := make(map[string]int), make(map[string]int)
	for code, n := range out.Refused {
		switch {
		case slices.Contains(retried, code):
			again[string(code)] = n
		case !slices.Contains(expected, code):
			odd[string(code)] = n
		}
	}
	out.none("unexpected refusals", total(odd), kinds(odd), "look for these codes in the logs of the nodes")
	if unsupported > 0 {
		out.none("pictures asked for", unsupported, "every sale asks for a picture now, which a program cannot read",
			"stampede switch shows the least that all sales ask for")
	}
	if share := float64(total(again)) / float64(max(1, out.Answer.N)); r.Limits.Retried > 0 {
		c := Check{Name: "asked to wait", State: OK, Measured: 100 * share, Limit: 100 * r.Limits.Retried, Unit: "%"}
		if share > r.Limits.Retried {
			c.State, c.Says = Fail, kinds(again)
			c.Do = "rate_limited: the limits of a user (STAMPEDE_BUY_USER_RATE) or of the shop (STAMPEDE_BUY_ALL_RATE) are " +
				"tighter than this crowd; busy: a store does not answer in time, or STAMPEDE_BACKLOG is reached"
		}
		out.Checks = append(out.Checks, c)
	}
}

// nodes warns of a crowd that is spread unevenly, which is the balancer's doing.
func (r *run) nodes(out *Result) {
	if len(out.Nodes) < 2 {
		return
	}
	busiest := slices.MaxFunc(out.Nodes, func(a, b NodeShare) int { return a.Sockets - b.Sockets })
	c := Check{
		Name: "busiest node", State: OK, Unit: "%",
		Measured: 100 * float64(busiest.Sockets) / float64(r.Shoppers),
		Limit:    100 * min(1, unevenFrom/float64(len(out.Nodes))),
	}
	if c.Measured > c.Limit {
		c.State = Warn
		c.Says = fmt.Sprintf("%s has %d of %d sockets", busiest.Name, busiest.Sockets, r.Shoppers)
		c.Do = "if " + r.Target + " is a balancer, have it choose the node with the fewest connections"
	}
	out.Checks = append(out.Checks, c)
}

func total[K comparable](counts map[K]int) (sum int) {
	for _, n := range counts {
		sum += n
	}
	return sum
}

// kinds says how many of each.
func kinds(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[kind], kind))
	}
	return strings.Join(parts, ", ")
}
