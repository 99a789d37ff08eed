package main

import (
	"fmt"
	"net/http"

	"stampede/app"
)

type archiveCmd struct {
	Status archiveStatus `cmd:"" help:"What is in the archive, and what is due."`
	Drop   archiveDrop   `cmd:"" help:"Remove archived months for good."`
}

type (
	archiveStatus struct{ reading }
	archiveDrop   struct {
		Before string `required:"" placeholder:"MONTH" help:"Months before this one go, like 2025-01 (UTC)."`
		DryRun bool   `help:"Only show what would go."`

		operating
	}
)

// Help says what moves when.
func (archiveCmd) Help() string {
	return "Orders of sales that closed longer ago than STAMPEDE_ARCHIVE_AFTER, and to which nothing more will happen, move to a table of " +
		"its own with a partition for each month. Everything finds them there as before; one to which something happens after all comes " +
		"back by itself. After STAMPEDE_PERSONAL_DATA_AFTER orders that are over lose address and parcel number, wherever they are. A " +
		"node with the role sweeper does both by itself every ten minutes, not around openings. drop removes whole months of the " +
		"archive; what they add up to is kept, and payments and refunds stay. It needs the role admin.\n\nExamples:\n\n" +
		"    stampede archive status\n    stampede archive drop --before 2025-01 --dry-run"
}

// Run shows what is where.
func (c archiveStatus) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		var s app.ArchiveState
		err := api.get("/archive", nil, &s)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.json(s)
		}
		fmt.Fprintf(e.out, "archived after %s, blanked after %s\n", s.ArchiveAfter, s.PersonalData)
		fmt.Fprintf(e.out, "due: %d sales to move, %d to blank; %d sales have orders that are not settled\n", s.SalesToMove,
			s.SalesToBlank, s.SalesKept)
		if s.PaidLeft+s.ShippedLeft > 0 {
			fmt.Fprintf(e.out, "of these stay %d paid orders that nobody shipped, and %d on their way: "+
				"stampede order list --state paid\n", s.PaidLeft, s.ShippedLeft)
		}
		if s.OldNodes > 0 {
			fmt.Fprintf(e.out, "nothing moves while %d nodes of an earlier version are alive\n", s.OldNodes)
		}
		if s.MonthsToDrop > 0 {
			fmt.Fprintf(e.out, "%d months are about to be dropped\n", s.MonthsToDrop)
		}
		fmt.Fprintf(e.out, "in the archive: %d orders\n", s.Orders)
		return e.months(s.Months)
	})
}

func (e *env) months(months []app.ArchivedMonth) error {
	var some []app.ArchivedMonth
	for _, m := range months {
		if m.Orders > 0 {
			some = append(some, m)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return table(e, 0, "month\torders\tMB", "%s\t%d\t%s", some, func(m app.ArchivedMonth) []any {
		return []any{m.Month, m.Orders, fmt.Sprintf("%.1f", float64(m.Bytes)/1e6)}
	})
}

// Run drops.
func (c archiveDrop) Run(e *env) error {
	before, err := app.ParseMonth(c.Before)
	if err != nil {
		return fmt.Errorf("%w: --before: %w", errUsage, err)
	}
	return e.operate(c.operating, func(api *client) error {
		var drop app.ArchiveDrop
		err := api.act(http.MethodPost, "/archive/drop", map[string]any{"before": before, "dry_run": c.DryRun}, &drop)
		switch {
		case err != nil:
			return err
		case c.JSON:
			return e.json(drop)
		case len(drop.Months) == 0:
			fmt.Fprintln(e.out, "the archive has no month before", before)
			return nil
		}
		says := "dropped"
		if drop.DryRun {
			says = "would be dropped"
		}
		e.dropped(says, drop.Months)
		return nil
	})
}

func (e *env) dropped(says string, months []app.ArchivedMonth) {
	for _, m := range months {
		fmt.Fprintf(e.out, "%s: %s: %d orders of %d sales, %s yuan paid, %s refunded\n", says, m.Month, m.Orders, m.Sales,
			app.FormatFen(m.PaidFen), app.FormatFen(m.RefundedFen))
	}
}
