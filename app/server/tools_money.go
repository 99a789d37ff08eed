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

// PayDay compares the payments of a day, in the shop's zone, with the gateway. It corrects nothing.
func (t *Tools) PayDay(ctx context.Context, day time.Time) (app.PayDayReport, error) {
	gateway, err := t.config.gateway()
	if err != nil {
		return app.PayDayReport{}, err
	}
	if gateway == nil {
		return app.PayDayReport{}, errNoGateway
	}
	from, to := app.PayDayOf(day, t.config.TimeZone.Location)
	report := &app.PayDay{Book: t.stores.db, Gateway: gateway}
	return report.Report(ctx, from.Format(time.DateOnly), app.MillisOf(from), app.MillisOf(to))
}

// ReadPaid hands over, one by one and at least once, what the group has not taken of the stream of paid and refunded
// orders, until there were most of them (0: no end), ctx ends, or handle fails.
func (t *Tools) ReadPaid(ctx context.Context, group, consumer string, most int, handle func(context.Context, app.Posting) error) error {
	if t.stores.client == nil {
		if err := t.connect(ctx); err != nil {
			return err
		}
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

// Repost has everything that reached the back office since the instant given appended to its stream once more, and
// answers how much that is. A running server does it.
func (t *Tools) Repost(ctx context.Context, since time.Time) (int64, error) {
	return t.stores.db.Repost(ctx, app.MillisOf(since))
}
