package server

import (
	"context"
	"errors"
	"time"

	"stampede/app"
	"stampede/streams"
)

// errNoGateway is for commands that ask the gateway where none is configured.
var errNoGateway = errors.New("STAMPEDE_ALIPAY_APP_ID is not set: there is no gateway to compare with")

// DailyReconciliation compares the payments of a day, in the shop's zone, with the gateway. It corrects nothing.
func (t *Tools) DailyReconciliation(ctx context.Context, day time.Time) (app.ReconciliationReport, error) {
	gateway, err := t.config.gateway()
	if err != nil {
		return app.ReconciliationReport{}, err
	}
	if gateway == nil {
		return app.ReconciliationReport{}, errNoGateway
	}
	from, to := app.CalendarDay(day, t.config.TimeZone.Location)
	report := &app.DailyReconciliation{Store: t.stores.db, Gateway: gateway}
	return report.Report(ctx, from.Format(time.DateOnly), app.MillisOf(from), app.MillisOf(to))
}

// ReadPaid hands over, one by one and at least once, what the group has not taken of the stream of paid and refunded
// orders, until there were most of them (0: no end), ctx ends, or handle fails.
func (t *Tools) ReadPaid(
	ctx context.Context, group, consumer string, most int, handle func(context.Context, app.OutboxMessage) error,
) error {
	if err := t.connect(ctx); err != nil {
		return err
	}
	reader := streams.NewPaidReader(t.stores.blocking, group, consumer)
	for left := most; ctx.Err() == nil && (most == 0 || left > 0); {
		if most > 0 {
			reader.AtMost(left)
		}
		taken, err := reader.RunOnce(ctx, handle)
		if err != nil && ctx.Err() == nil {
			return err
		}
		left -= taken
	}
	return nil
}

// PaidStream is the stream of paid and refunded orders, and what its receivers have refused for good.
func (t *Tools) PaidStream(ctx context.Context) (*streams.PaidStream, error) {
	err := t.connect(ctx)
	return streams.NewPaidStream(t.stores.client), err
}

// ReplayParked sends parked postings once more, all of them if none is named, and hands over the id of each. Of all,
// those that cannot be sent keep none of the others back.
func (t *Tools) ReplayParked(ctx context.Context, ids []string, each func(id string)) error {
	paid, err := t.PaidStream(ctx)
	if err != nil {
		return err
	}
	all := len(ids) == 0
	if all {
		if ids, err = parkedIDs(ctx, paid); err != nil {
			return err
		}
	}
	if err := t.noteEach(ctx, "parked.replay", "parked", ids); err != nil {
		return err
	}
	return eachOf(ids, all, "nothing is parked as ", func(id string) error { return paid.ReplayParked(ctx, id) }, each)
}

func parkedIDs(ctx context.Context, paid *streams.PaidStream) ([]string, error) {
	list, err := paid.Parked(ctx)
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids, err
}

// DropParked forgets a parked posting.
func (t *Tools) DropParked(ctx context.Context, id string) error {
	paid, err := t.PaidStream(ctx)
	if err != nil {
		return err
	}
	if err := t.noteEach(ctx, "parked.drop", "parked", []string{id}); err != nil {
		return err
	}
	there, err := paid.DropParked(ctx, id)
	if err == nil && !there {
		return app.Fail(app.NotFound, "nothing is parked as "+id)
	}
	return err
}
