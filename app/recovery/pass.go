package recovery

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"stampede/app/shop"
)

// recoveryRun is one recovery of a partition.
type recoveryRun struct {
	*Driver
	partition int
	claim     int64 // the epoch that the recovery will start
	found     finding
	closedAt  shop.Millis // Redis time
	sales     []shop.Sale // the loaded sales
	doubted   bool        // a doubt has begun, because lost writes are restored
	report    Report
}

// Report counts the changes of a recovery and lists the problems for an operator.
type Report struct {
	Written  int            `json:"written"`  // orders whose lost rows were written again
	Ended    int            `json:"ended"`    // orders that were ended again: their rows were pending again
	Imported int            `json:"imported"` // sales whose terms, units or loaded mark were restored from Redis
	Problems []shop.Problem `json:"problems"` // for an operator to settle: the open ones of the partition
}

func (r *Report) add(other Report) {
	r.Written += other.Written
	r.Ended += other.Ended
	r.Imported += other.Imported
	r.Problems = append(r.Problems, other.Problems...)
}

// addProblems stores problems for an operator. A recovery only adds them: the units of an order without a decision stay
// where they are, and its sale continues.
func (rr *recoveryRun) addProblems(ctx context.Context, problems ...shop.Problem) error {
	if len(problems) == 0 {
		return nil
	}
	if err := rr.beginDoubt(ctx); err != nil {
		return err
	}
	for i := range problems {
		problems[i].Partition = rr.partition
	}
	return rr.Store.Problems().Add(ctx, problems, rr.closedAt)
}

// reportStuck reports that a sale cannot continue, because Redis could sell more units than the database has.
func (rr *recoveryRun) reportStuck(sale shop.ID, reason string) {
	rr.report.Problems = append(rr.report.Problems, shop.Problem{Sale: sale, Text: reason})
}

// recoverPartition recovers a partition. The caller holds the lock of the partition.
func (d *Driver) recoverPartition(
	ctx context.Context, partition int, h shop.DatabaseHistory, found finding,
) (epoch int64, r Report, err error) {
	p := &recoveryRun{Driver: d, partition: partition, found: found}
	if err := p.runSteps(ctx, h); err != nil {
		return 0, p.report, err
	}
	d.counts.Passes.Add(1)
	d.counts.Written.Add(int64(p.report.Written))
	d.counts.Ended.Add(int64(p.report.Ended))
	if found.unopened() {
		slog.InfoContext(ctx, "partition opened for the first time", "partition", partition, "epoch", p.claim)
	} else {
		slog.WarnContext(ctx, "partition recovered", "partition", partition, "why", found.reason(), "epoch", p.claim,
			"sales", len(p.sales), "written", p.report.Written, "ended", p.report.Ended,
			"imported", p.report.Imported, "problems", len(p.report.Problems))
	}
	for _, problem := range p.report.Problems {
		slog.ErrorContext(ctx, "a recovery found a problem that an operator has to settle", "sale", problem.Sale,
			"order", problem.Order, "what", problem.Text)
	}
	return p.claim, p.report, nil
}

func (rr *recoveryRun) runSteps(ctx context.Context, h shop.DatabaseHistory) (err error) {
	above := max(rr.found.redis.Epoch, rr.found.redis.Claim)
	if rr.claim, err = rr.Store.Partitions().AdvanceEpoch(ctx, rr.partition, above); err != nil {
		return fmt.Errorf("advance epoch: %w", err)
	}
	r := shop.PartitionRecovery{Claim: rr.claim, Lost: rr.found.redisLost != "", Database: h}
	if r.Shop, err = rr.shop(ctx); err != nil {
		return err
	}
	if err := rr.Redis.Recovery().Close(ctx, rr.partition, r, rr.found.redis.History); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	if rr.closedAt, err = rr.now(ctx); err != nil {
		return err
	}
	closed, err := rr.Redis.Recovery().State(ctx, rr.partition) // its seq is final from here on
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	if err := rr.importFacts(ctx); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if err := rr.eachSale(ctx, "end orders", rr.endOrders); err != nil {
		return err
	}
	if err := rr.writeMissingRows(ctx); err != nil {
		return fmt.Errorf("write rows of the stream: %w", err)
	}
	if r.Lost {
		err = rr.restoreAll(ctx)
	} else {
		err = rr.eachSale(ctx, "compare", rr.compare)
	}
	if err != nil {
		return err
	}
	open, err := rr.Store.Problems().Open(ctx, rr.partition)
	if err != nil {
		return err
	}
	rr.report.Problems = append(rr.report.Problems, open...)
	_, seq, err := rr.Store.Partitions().PartitionEpoch(ctx, rr.partition)
	if err != nil {
		return fmt.Errorf("read seq: %w", err)
	}
	now, err := rr.Store.History().Read(ctx)
	if err == nil && (now.Server != h.Server || now.Generation != h.Generation) {
		err = fmt.Errorf("%w: another history of the database began", shop.ErrTransient)
	}
	if err != nil {
		return err
	}
	r.Database = now
	if err := rr.Redis.Recovery().Open(ctx, rr.partition, r, max(seq, closed.Seq),
		max(rr.found.changes, closed.Changes)); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	return rr.markInspected(ctx, rr.partition, h.Generation)
}

// beginDoubt runs before the first write that restores a lost one: writes about payments may be lost, too.
func (rr *recoveryRun) beginDoubt(ctx context.Context) error {
	if rr.doubted {
		return nil
	}
	if _, err := rr.watchPending(ctx, rr.closedAt); err != nil {
		return err
	}
	if err := rr.Store.History().BeginDoubt(ctx, rr.closedAt); err != nil {
		return err
	}
	rr.doubted = true
	return nil
}

// eachPage reads all orders of a sale in pages, the oldest first.
func (rr *recoveryRun) eachPage(ctx context.Context, sale *shop.Sale, use func([]shop.Order) error) error {
	for after := shop.ID(0); ; {
		page, err := rr.Store.Orders().OrdersOfSale(ctx, sale.ID, after, pageSize)
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		if err := use(page); err != nil || len(page) < pageSize {
			return err
		}
		after = page[len(page)-1].ID
	}
}

// eachHoldBatch scans all holds of a sale in batches. Each hold is in exactly one batch.
func (rr *recoveryRun) eachHoldBatch(ctx context.Context, sale shop.SaleRef, use func([]shop.OpenHold) error) error {
	seen := make(map[shop.ID]bool) // a scan may return a hold twice
	for cursor, more := uint64(0), true; more; more = cursor != 0 {
		holds, next, err := rr.Redis.Stock().Holds(ctx, sale, cursor)
		if err != nil {
			return fmt.Errorf("scan holds: %w", err)
		}
		holds = slices.DeleteFunc(holds, func(h shop.OpenHold) bool {
			repeated := seen[h.Order]
			seen[h.Order] = true
			return repeated
		})
		if err := use(holds); err != nil {
			return err
		}
		cursor = next
	}
	return nil
}

// eachSale runs step for each loaded sale.
func (rr *recoveryRun) eachSale(
	ctx context.Context, task string, step func(ctx context.Context, sale *shop.Sale) error,
) error {
	for i := range rr.sales {
		if err := step(ctx, &rr.sales[i]); err != nil {
			return fmt.Errorf("%s of sale %s: %w", task, rr.sales[i].ID, err)
		}
	}
	return nil
}
