package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"stampede/app/rehearse"
)

func (c *rehearseCmd) print(e *env, r *rehearse.Result) error {
	if c.JSON {
		return e.json(r)
	}
	_, err := io.WriteString(e.out, rehearsalText(r))
	return err
}

// rehearsalText is a result in 80 columns.
func rehearsalText(r *rehearse.Result) string {
	var w lines
	w.fold("", fmt.Sprintf("Rehearsal of sale %s: %d shoppers at %s, %d units, open for %v, partition %d",
		r.Rehearsal.Of, r.Rehearsal.Shoppers, r.Target, r.Rehearsal.Units, time.Duration(r.ForS*float64(time.Second)),
		r.Rehearsal.Partition))
	w.add("")
	w.add("%-28s %8s %9s %9s %9s", "", "times", "p50 ms", "p99 ms", "max ms")
	for _, row := range []struct {
		name string
		t    rehearse.Times
	}{
		{"connect and hello", r.Connect},
		{"watch to first stock", r.FirstStock},
		{"pass", r.Pass},
		{"press to answer", r.Answer},
		{"press to order", r.Order},
		{"deadline to expiry", r.Expiry},
	} {
		if row.t.N > 0 {
			w.add("%-28s %8d %9.0f %9.0f %9.0f", row.name, row.t.N, row.t.P50, row.t.P99, row.t.Max)
		}
	}
	w.add("")
	w.fold("", fmt.Sprintf("%d presses, %d reserved; %d answers in the busiest second; %.0f ticks/s then",
		r.Pressed, r.Reserved, r.AnsweredS, r.TicksS))
	var refused []string
	for _, code := range slices.SortedFunc(maps.Keys(r.Refused), cmp.Compare) {
		refused = append(refused, fmt.Sprintf("%d %s", r.Refused[code], code))
	}
	if len(refused) > 0 {
		w.fold("refused: ", strings.Join(refused, ", "))
	}
	w.fold("", fmt.Sprintf("partition %d: lag %d, %d waiting at most, the oldest for %d ms", r.Rehearsal.Partition, r.Lag,
		r.Waiting, r.OldestMS))
	for _, n := range r.Nodes {
		w.fold("node ", fmt.Sprintf("%s: %d sockets", n.Name, n.Sockets))
	}
	w.add("")
	for _, check := range r.Checks {
		w.check(&check)
	}
	for _, what := range r.NotRehearsed {
		w.fold("  NOT REHEARSED: ", what)
	}
	w.add("")
	w.add("%s", r.Verdict)
	return w.String()
}

// check is one reason, with what to do about it.
func (w *lines) check(c *rehearse.Check) {
	limit := ""
	if c.Limit > 0 {
		limit = fmt.Sprintf("(limit %g %s)", c.Limit, c.Unit)
	}
	w.add("  %-4s %-28s %10s %-3s %s", c.State, c.Name, fmt.Sprintf("%.4g", c.Measured), c.Unit, limit)
	if c.Says != "" {
		w.fold("       ", c.Says)
	}
	if c.Do != "" {
		w.fold("       do: ", c.Do)
	}
}

// rehearsalProgress shows people how far it is: on a terminal in one line, elsewhere a line for each stage.
func rehearsalProgress(out io.Writer) func(stage string, now, of int) {
	term, last := terminal(out), ""
	return func(stage string, now, of int) {
		switch {
		case term != nil && of > 0:
			fmt.Fprintf(term, "\r%-10s %6d of %-6d", stage, now, of)
		case term != nil:
			fmt.Fprintf(term, "\r%-30s\r", stage)
		case stage != last:
			fmt.Fprintf(out, "rehearse: %s\n", stage)
		}
		last = stage
	}
}
