//go:build crashpoints

package crash

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"stampede/app/shop"
	"stampede/app/test/kit"
)

// settleTimeout limits the time until a shop is at rest. It includes claims of a dead consumer (10 s), deadlines (2 s)
// and the slow scan (8 s), with a reserve for a busy machine.
const settleTimeout = 2 * time.Minute

// awaitRest waits until the run is at rest without violations, and fails with the remaining violations. `stampede
// audit` must agree. figures is added to the report.
func (w *world) awaitRest(n *node, figures string) {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		w.reconnect(n)
		if pending := w.pendingWork(); pending != "" {
			return false, pending
		}
		ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
		defer cancel()
		var err error
		if w.final, err = w.collect(ctx); err != nil {
			return false, err.Error()
		}
		history := w.memory.copy()
		if w.allow != nil {
			w.allow(&history, &w.final)
		}
		found := Check(history, w.final)
		return len(found) == 0, formatViolations(found)
	})
	w.audit()
	w.summarise(figures)
}

// pendingWork returns obvious pending work, or "". It is a cheap check.
func (w *world) pendingWork() string {
	w.t.Helper()
	if n := w.count("SELECT COUNT(*) FROM orders WHERE state = 'pending'"); n > 0 {
		return fmt.Sprintf("%d orders are pending", n)
	}
	return w.unsettled()
}

// unsettled returns a sale with unsettled tickets, or "".
func (w *world) unsettled() string {
	w.t.Helper()
	for i := range w.sales {
		numbers, err := w.redis.HMGet(kit.Context(w.t), kit.SaleKey(&w.sales[i]), "tickets", "done").Result()
		if err != nil {
			return err.Error()
		}
		if numbers[0] != numbers[1] {
			return fmt.Sprintf("sale %s: %v tickets, %v done", w.sales[i].ID, numbers[0], numbers[1])
		}
	}
	return ""
}

// reconnect reconnects phones that lost their socket.
func (w *world) reconnect(n *node) {
	w.t.Helper()
	if n.Exited() {
		w.t.Fatalf("the program exited unexpectedly:\n%s", n.Tail())
	}
	for _, b := range w.buyers {
		if err := b.connect(n.addr); err != nil {
			w.t.Logf("connect: %v", err) // retried at the next check
		}
	}
}

func formatViolations(found []Violation) string {
	var b strings.Builder
	for i, v := range found {
		if i == 20 {
			fmt.Fprintf(&b, "… and %d more\n", len(found)-i)
			break
		}
		b.WriteString(v.String() + "\n")
	}
	return b.String()
}

func (w *world) audit() {
	w.t.Helper()
	cmd := exec.CommandContext(kit.Context(w.t), binary, "audit")
	cmd.Env = slices.Concat(os.Environ(), w.settings, []string{"STAMPEDE_JWT_SECRET=" + secret})
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Errorf("stampede audit: %v\n%s", err, out)
	}
}

// summarise writes the line of the run to the report.
func (w *world) summarise(figures string) {
	states := make(map[shop.OrderState]int)
	for i := range w.final.Rows {
		states[w.final.Rows[i].State]++
	}
	h := w.memory.copy()
	report.line("ok  %-58s %5d accepted %4d unknown %s orders %v, %d events, %d resets, %d nodes started, %.0f s",
		w.name, w.memory.acceptedCount(), w.memory.unknown(), figures, states, len(h.Received), len(h.Resets),
		w.nodesStarted,
		time.Since(w.began).Seconds())
}
