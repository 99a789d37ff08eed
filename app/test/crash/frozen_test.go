//go:build crashpoints

package crash

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"stampede/app/test/kit"
)

// freeze stops the program with SIGSTOP; thaw continues it.
func (n *node) freeze() { n.signal(syscall.SIGSTOP) }

func (n *node) thaw() { n.signal(syscall.SIGCONT) }

func (n *node) signal(s syscall.Signal) {
	n.t.Helper()
	if err := n.Cmd.Process.Signal(s); err != nil {
		n.t.Fatalf("signal %v to the program: %v", s, err)
	}
}

// I1, I4, I5, P7: a consumer stops in the middle of a batch. Another consumer claims and writes the batch; then the
// first consumer continues. No change happens twice. While the first consumer is stopped, XINFO is correct.
func TestFrozenConsumerRepeatsNoChange(t *testing.T) {
	for i := range 4 {
		t.Run(fmt.Sprintf("seed-%d", i), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.setUpCrowd()
			reserver := w.start("STAMPEDE_ROLES=api")
			w.enter(reserver)
			tr := w.trade(behaviour{})
			w.awaitAccepted(backlog)
			tr.end()

			worker := w.start("STAMPEDE_ROLES=worker")
			w.freezeHoldingBatch(worker)
			w.awaitXinfoMatch()
			uncommitted := w.uncommitted()
			other := w.start()
			w.awaitWritten()
			worker.thaw()
			w.reconnectAll(other)
			w.awaitRest(other, fmt.Sprintf("%3d uncommitted", uncommitted))
			worker.Kill()
		})
	}
}

// freezeHoldingBatch stops the worker while it has pending entries. The worker may finish these entries before the
// check. Then the worker continues, and more units are bought.
func (w *world) freezeHoldingBatch(worker *node) {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		worker.freeze()
		for i := range w.sales {
			if g, err := w.group(kit.Context(w.t), w.sales[i].Partition); err == nil && g.Pending > 0 {
				return true, ""
			}
		}
		worker.thaw()
		for _, b := range w.buyers[:10] {
			b.attempt(&w.sales[b.rng.IntN(len(w.sales))])
		}
		return false, "the worker has no pending entries"
	})
}

// awaitXinfoMatch waits until XINFO matches the stream of every partition (P7).
func (w *world) awaitXinfoMatch() {
	w.t.Helper()
	kit.Eventually(w.t, settleTimeout, func() (bool, string) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		for p := range partitions {
			if difference, err := w.xinfoDifference(ctx, p); err != nil || difference != "" {
				return false, fmt.Sprint(difference, err)
			}
		}
		return true, ""
	})
}

// I10: a node is frozen until the lease of its number has expired, another node gets that number, and the first node
// continues. No id is minted twice.
func TestFrozenNodePastLeaseRepeatsNoID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.setUpCrowd()
	first := w.start()
	w.enter(first)
	tr := w.trade(behaviour{attempts: 20})
	w.awaitAccepted(100)
	first.freeze()
	// Ends the lease of ten minutes: it depends on the database's clock.
	_, err := w.db.ExecContext(kit.Context(t), "UPDATE node_leases SET expires_at = 0")
	w.must(err)
	second := w.start()
	if n := w.count("SELECT COUNT(*) FROM node_leases"); n != 1 {
		t.Fatalf("%d node numbers are leased, want 1: the second node takes the number of the first", n)
	}
	w.addBuyers(20)
	for _, b := range w.buyers[40:] {
		w.must(b.connect(second.addr))
	}
	first.thaw()
	for _, b := range w.buyers[40:] {
		tr.running.Go(func() { b.trade(behaviour{attempts: 20}, tr.stop) })
	}
	tr.wait()
	w.reconnectAll(second)
	w.awaitRest(second, "")
}
