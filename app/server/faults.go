package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"stampede/app/board"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// recentRejections is how long a rejection of the database raises an alarm. Each node writes at least every few
	// seconds.
	recentRejections = 10 * time.Second
	// undecidedAfter is how long a late payment may wait for its decision. Sweepers decide within seconds.
	undecidedAfter = 5 * time.Minute
	// maxForged is the number of forged notifications within a minute that raises an alarm. Each client can send some.
	maxForged = 10
	// maxUnanswered is the number of calls within a minute without a reply of the gateway that raises an alarm while
	// orders wait for it.
	maxUnanswered = 3
)

// backlogs has the last counts of work that waits for the gateway or for an operator. Only nodes with the role sweeper
// count it.
type backlogs struct {
	openTrades, differences, undecided, postings, mails atomic.Int64
}

// countBacklogs counts the backlogs of the whole shop.
func (p *parts) countBacklogs(ctx context.Context) error {
	counts, db := &p.board.backlogs, p.stores.db
	return shop.Repeat(ctx, board.PointEvery, "count the backlogs", func(ctx context.Context) error {
		for _, c := range []struct {
			into  *atomic.Int64
			count func(context.Context) (int64, error)
		}{
			{&counts.openTrades, db.Payments().OpenTrades},
			{&counts.differences, db.Differences().Count},
			{&counts.undecided, func(ctx context.Context) (int64, error) {
				return db.Payments().CountUnresolved(ctx, p.clock.Now().Add(-undecidedAfter))
			}},
			{&counts.postings, p.backOffice.paid.CountQuarantined},
			{&counts.mails, p.mails.stream.CountQuarantined},
		} {
			n, err := c.count(ctx)
			if err != nil {
				return err
			}
			c.into.Store(n)
		}
		return nil
	})
}

// exportBacklogs exports the counts that have no other metric.
func (p *parts) exportBacklogs(registry *prometheus.Registry) {
	gauge(registry, "stampede_payment_differences", "Orders that differ from the records of the payment gateway.",
		p.board.backlogs.differences.Load)
	gauge(registry, "stampede_payments_undecided", "Late payments without a decision for five minutes.",
		p.board.backlogs.undecided.Load)
}

// faultFinder returns a function that lists the faults of this node for the live board.
func (p *parts) faultFinder() func() []board.Fault {
	var forged, unanswered lastMinute
	backlog := &p.board.backlogs
	return func() (faults []board.Fault) {
		now := time.Now()
		add := func(holds bool, f board.Fault) {
			if holds {
				faults = append(faults, f)
			}
		}
		count := func(name string, n int64) { add(n > 0, board.Fault{Name: name, Count: n}) }
		text := func(name, text string) { add(text != "", board.Fault{Name: name, Text: text}) }

		_, readOnly := p.stores.db.Rejections(store.ReadOnly, recentRejections)
		add(readOnly, board.Fault{Name: board.AlarmDatabaseReadOnly})
		_, noConnections := p.stores.db.Rejections(store.NoConnections, recentRejections)
		add(noConnections, board.Fault{Name: board.AlarmDatabaseConnections})
		text(board.AlarmRedisSetting, p.board.weak())
		if n := forged.of(p.httpMetrics.Forged(), now); n >= maxForged {
			count(board.AlarmForgedNotifications, n)
		}
		if p.money.closer != nil && unanswered.of(p.services.payments.Counts().Unknown.Load(), now) >= maxUnanswered {
			count(board.AlarmTradesUnanswered, int64(p.money.closer.Waiting()))
		}
		count(board.AlarmPaymentsUndecided, backlog.undecided.Load())
		count(board.AlarmPostingsQuarantined, backlog.postings.Load())
		count(board.AlarmMailsQuarantined, backlog.mails.Load())
		count(board.AlarmSalesDiffer, int64(p.reconciler.Mismatched()))
		text(board.AlarmPersonalDataStays, p.blanker.Failure())
		text(board.AlarmCertificateEnds, p.certificates.ending(now))
		return faults
	}
}

// lastMinute counts the events of about the last minute from a total that only grows.
type lastMinute struct {
	began        time.Time // of the current minute
	base, before int64     // total at its beginning, events of the minute before
}

func (m *lastMinute) of(total int64, now time.Time) int64 {
	if now.Sub(m.began) >= time.Minute {
		m.began, m.base, m.before = now, total, total-m.base
	}
	return max(m.before, total-m.base)
}
