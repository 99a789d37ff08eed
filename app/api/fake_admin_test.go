package api

import (
	"context"
	"time"

	"stampede/app"
)

func (s *fakeShop) SetRole(_ context.Context, actor app.Actor, id app.ID, role app.Role) (app.User, error) {
	u := someUser(id)
	u.Role = role
	return u, s.acted(actor)
}

func (s *fakeShop) RevokeUser(_ context.Context, actor app.Actor, _ app.ID) (int, error) {
	return 2, s.acted(actor)
}

func (s *fakeShop) DeleteUser(_ context.Context, actor app.Actor, _ app.ID) error {
	return s.acted(actor)
}

func (s *fakeShop) ReconcileDay(_ context.Context, day time.Time, after app.ID) (app.ReconciliationReport, error) {
	return app.ReconciliationReport{
		Day: day.Format(time.DateOnly), Orders: 2, Paid: 1, TakenFen: 4900, Next: after,
		Differences: []app.PayDifference{{Order: 7, Kind: "not_entered", Message: "look"}},
	}, s.fail
}

func (s *fakeShop) Repost(_ context.Context, actor app.Actor, _ app.Millis) (int64, error) {
	return 3, s.acted(actor)
}

func someMonth() app.ArchivedMonth {
	return app.ArchivedMonth{Month: 202601, Orders: 5, Sales: 1, PaidFen: 4900}
}

func (s *fakeShop) ArchiveState(context.Context) (app.ArchiveState, error) {
	return app.ArchiveState{
		ArchiveAfter: "2208h0m0s", PersonalData: "never", Orders: 5, Months: []app.ArchivedMonth{someMonth()},
	}, s.fail
}

func (s *fakeShop) DropArchive(
	_ context.Context, actor app.Actor, before app.Month, dryRun bool,
) (app.ArchiveDrop, error) {
	return app.ArchiveDrop{Before: before, DryRun: dryRun, Months: []app.ArchivedMonth{someMonth()}}, s.acted(actor)
}
