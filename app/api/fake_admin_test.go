package api

import (
	"context"
	"time"

	"stampede/app/archive"
	"stampede/app/journal"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
)

func (s *fakeShop) SetRole(_ context.Context, actor journal.Actor, id shop.ID, role shop.Role) (shop.User, error) {
	u := someUser(id)
	u.Role = role
	return u, s.acted(actor)
}

func (s *fakeShop) RevokeUser(_ context.Context, actor journal.Actor, _ shop.ID) (int, error) {
	return 2, s.acted(actor)
}

func (s *fakeShop) DeleteUser(_ context.Context, actor journal.Actor, _ shop.ID) error {
	return s.acted(actor)
}

func (s *fakeShop) ReconcileDay(_ context.Context, day time.Time, after shop.ID) (payment.ReconciliationReport, error) {
	return payment.ReconciliationReport{
		Day: day.Format(time.DateOnly), Orders: 2, Paid: 1, TakenFen: 4900, Next: after,
		Differences: []payment.PayDifference{{Order: 7, Kind: "not_entered", Message: "look"}},
	}, s.fail
}

func (s *fakeShop) Repost(_ context.Context, actor journal.Actor, _ shop.Millis) (int64, error) {
	return 3, s.acted(actor)
}

func someMonth() store.ArchivedMonth {
	return store.ArchivedMonth{Month: 202601, Orders: 5, Sales: 1, PaidFen: 4900}
}

func (s *fakeShop) ArchiveState(context.Context) (store.ArchiveState, error) {
	return store.ArchiveState{
		ArchiveAfter: "2208h0m0s", PersonalData: "never", Orders: 5, Months: []store.ArchivedMonth{someMonth()},
	}, s.fail
}

func (s *fakeShop) DropArchive(
	_ context.Context, actor journal.Actor, before shop.Month, dryRun bool,
) (archive.ArchiveDrop, error) {
	return archive.ArchiveDrop{
		Before: before, DryRun: dryRun, Months: []store.ArchivedMonth{someMonth()},
	}, s.acted(actor)
}
