package backoffice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/order"
	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	parcelsEvery = 2 * time.Second
	parcelBatch  = 200
	// finishRetry is the delay before an order with an undecided refund is checked again.
	finishRetry = 24 * time.Hour
)

// FinisherJob sends e-mails about shipped orders, and finishes orders whose buyers did not confirm the receipt in time.
// After a crash, the job repeats an unfinished step. Several nodes may run the job.
type FinisherJob struct {
	Store     *store.Store
	RedisTime func(ctx context.Context) (shop.Millis, error)
	Effects   *order.Effects
	Mail      *outbox.OrderMail
	Queue     MailQueue
}

// MailQueue detects and confirms the loss of e-mails in Redis.
type MailQueue interface {
	Check(ctx context.Context) error
	RepeatRecent(ctx context.Context) error
	Confirm(ctx context.Context, lost *outbox.LostError) error
}

// Run calls RunOnce periodically until ctx ends.
func (f *FinisherJob) Run(ctx context.Context) error {
	return shop.Repeat(ctx, parcelsEvery, "finish shipped orders", f.RunOnce)
}

// RunOnce processes everything that is due.
func (f *FinisherJob) RunOnce(ctx context.Context) error {
	return errors.Join(f.recoverMails(ctx), f.sendEmails(ctx), f.finishOverdue(ctx))
}

// recoverMails repeats the recent e-mails about orders if Redis may have lost some. Marks in Redis prevent duplicates
// of the e-mails that survived. outbox.Sender repeats lost postings.
func (f *FinisherJob) recoverMails(ctx context.Context) error {
	err := f.Queue.Check(ctx)
	var lost *outbox.LostError
	if !errors.As(err, &lost) {
		return err
	}
	now, err := f.RedisTime(ctx)
	if err != nil {
		return fmt.Errorf("read Redis time: %w", err)
	}
	if err := errors.Join(f.Queue.RepeatRecent(ctx),
		f.Store.Shipments().RescheduleEmails(ctx, now.Add(-outbox.OrderMailMaxAge))); err != nil {
		return err
	}
	return f.Queue.Confirm(ctx, lost)
}

func (f *FinisherJob) finishOverdue(ctx context.Context) error {
	for {
		now, err := f.RedisTime(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		rows, scanned, err := f.Store.Shipments().FinishShipped(ctx, now, now.Add(finishRetry), parcelBatch)
		if err != nil {
			return err
		}
		if err := f.Effects.Do(ctx, now, shop.Pointers(rows)...); err != nil {
			return err
		}
		if scanned < parcelBatch {
			return nil
		}
	}
}

// sendEmails enqueues the e-mails that are due and marks each one afterwards.
func (f *FinisherJob) sendEmails(ctx context.Context) error {
	for {
		now, err := f.RedisTime(ctx)
		if err != nil {
			return fmt.Errorf("read Redis time: %w", err)
		}
		due, err := f.Store.Shipments().ClaimShipped(ctx, now, parcelBatch)
		if err != nil {
			return err
		}
		var failed []error // one failure does not delay the others
		for i := range due {
			failed = append(failed, f.sendEmail(ctx, &due[i], now))
		}
		if err := errors.Join(failed...); err != nil || len(due) < parcelBatch {
			return err
		}
	}
}

func (f *FinisherJob) sendEmail(ctx context.Context, s *store.Shipment, claimed shop.Millis) error {
	o, err := f.Store.Orders().Order(ctx, s.Order)
	if err != nil {
		return err
	}
	if err := f.Mail.Shipped(ctx, &o, s.ShippedAt, s.Carrier, s.Tracking); err != nil {
		return err
	}
	return f.Store.Shipments().MarkEmailSent(ctx, *s, claimed)
}
