package main

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"stampede/app/archive"
	"stampede/app/shop"
	"stampede/app/store"
)

type archiveCmd struct {
	Status archiveStatus `cmd:"" help:"Show archived months and due sales."`
	Drop   archiveDrop   `cmd:"" help:"Delete archived months permanently."`
}

type (
	archiveStatus struct{ readFlags }
	archiveDrop   struct {
		Before string `required:"" placeholder:"MONTH" help:"Delete the months before this month, for example 2025-01 (UTC)."`
		DryRun bool   `help:"Show the months and delete nothing."`
		operationFlags
	}
)

func (archiveCmd) Help() string {
	return "The orders of a sale move to the archive table when STAMPEDE_ARCHIVE_AFTER has passed since its close and " +
		"no order is unpaid, unsettled, unpublished or in refund. All reads cover both tables. Late payments are " +
		"refunded. After STAMPEDE_PERSONAL_DATA_AFTER settled orders lose their address and parcel number, in both " +
		"tables. A node with the role sweeper does both every ten minutes, but not around openings. The subcommand " +
		"drop deletes whole months of the archive and keeps their sums, payments and refunds. It needs the role " +
		"admin.\n\nExamples:\n\n    stampede archive status\n" +
		"    stampede archive drop --before 2025-01 --dry-run"
}

func (c archiveStatus) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var s store.ArchiveState
		err := api.get("/archive", nil, &s)
		return e.show(c.JSON, err, s, func() error { return e.archiveTable(&s) })
	})
}

func (e *env) archiveTable(s *store.ArchiveState) error {
	fmt.Fprintf(e.out, "orders are archived after %s, personal data is removed after %s\n", s.ArchiveAfter, s.PersonalData)
	fmt.Fprintf(e.out, "due: archive %d sales, remove personal data of %d sales; %d sales have unsettled orders\n", s.SalesToMove,
		s.SalesToBlank, s.SalesKept)
	if s.PaidLeft+s.ShippedLeft > 0 {
		fmt.Fprintf(e.out, "these orders stay: %d paid orders without a parcel and %d shipped orders without a receipt: "+
			"stampede order list --state paid\n", s.PaidLeft, s.ShippedLeft)
	}
	fmt.Fprintf(e.out, "in the archive: %d orders\n", s.Orders)
	if len(s.Months) == 0 {
		return nil
	}
	return table(e, 0, "month\torders\tsales\tpaid\trefunded", s.Months,
		func(m store.ArchivedMonth) []any {
			return []any{m.Month, m.Orders, m.Sales, shop.FormatFen(m.PaidFen), shop.FormatFen(m.RefundedFen)}
		})
}

func (c archiveDrop) Run(e *env) error {
	before, err := shop.ParseMonth(c.Before)
	if err != nil {
		return fmt.Errorf("%w: --before: %w", errUsage, err)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		var drop archive.Drop
		body := map[string]any{"before": before, "dry_run": c.DryRun}
		drops := func() error { return api.change(http.MethodPost, "/archive/drop", body, &drop) }
		err := drops()
		for errors.Is(err, &shop.Error{Code: shop.Busy}) && shop.Sleep(e.ctx, time.Second) {
			clear(api.operations) // reuse the key: the server continues the operation
			err = drops()
		}
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.json(drop)
		case len(drop.Months) == 0:
			fmt.Fprintln(e.out, "the archive has no orders before", before)
			return nil
		}
		message := "dropped"
		if drop.DryRun {
			message = "would be dropped"
		}
		for _, m := range drop.Months {
			fmt.Fprintf(e.out, "%s: %s: %d orders of %d sales, %s yuan paid, %s refunded\n", message, m.Month, m.Orders,
				m.Sales, shop.FormatFen(m.PaidFen), shop.FormatFen(m.RefundedFen))
		}
		return nil
	})
}
