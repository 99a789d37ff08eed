package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"stampede/app"
)

type slotCmd struct {
	Create   slotCreate   `cmd:"" help:"Make a slot."`
	List     slotList     `cmd:"" help:"Show the calendar."`
	Template slotTemplate `cmd:"" help:"Make the slots of a day for some days: all of them, or none."`
	Remove   slotRemove   `cmd:"" help:"Remove a slot without sales, or with archived ones."`
}

// Help says whose clocks count.
func (slotCmd) Help() string {
	return "Times are those of the shop's clocks (STAMPEDE_TIME_ZONE). A time that they skip or show twice, because they are set forward or " +
		"back, is named and never moved.\n\nExamples:\n\n" +
		"    stampede slot template --from 2026-11-25 --to 2026-12-01 --times 10:00-12:00,20:00-24:00 --dry-run\n" +
		"    stampede slot list --from 2026-11-25"
}

type (
	slotCreate struct {
		Opens  string `required:"" placeholder:"'2026-11-25 10:00'" help:"When it opens."`
		Closes string `required:"" placeholder:"'2026-11-25 12:00'" help:"When it closes."`
		changing
	}
	slotList struct {
		From app.Day `placeholder:"DAY" help:"First day, like 2026-11-25; without it today."`
		To   app.Day `placeholder:"DAY" help:"Last day, included; without it the first."`
		listing
	}
	slotTemplate struct {
		From  app.Day  `required:"" placeholder:"DAY" help:"First day, like 2026-11-25."`
		To    app.Day  `placeholder:"DAY" help:"Last day, included; without it the first."`
		Times []string `required:"" placeholder:"10:00-12:00" help:"The slots of a day."`
		changing
	}
	slotRemove struct {
		ID app.ID `arg:""`
		changing
	}
)

// Run makes a slot.
func (c *slotCreate) Run(e *env) error {
	return e.withDesk(c.changing, func(d *app.CatalogueDesk, actor app.Actor) error {
		opens, err := parseWallText(d, c.Opens)
		if err != nil {
			return err
		}
		closes, err := parseWallText(d, c.Closes)
		if err != nil {
			return err
		}
		s, err := d.CreateSlot(e.ctx, actor, c.DryRun, app.SlotDraft{OpensAt: opens, ClosesAt: closes})
		if err != nil {
			return err
		}
		return e.did(c.changing, s, "made slot %s, %s to %s", s.ID, e.wall(s.OpensAt), e.wall(s.ClosesAt))
	})
}

// Run lists.
func (c *slotList) Run(e *env) error {
	return e.readDesk(func(d *app.CatalogueDesk) error {
		if c.From == "" {
			c.From = app.Day(d.Now().Time().In(d.Zone).Format(time.DateOnly))
		}
		if c.To == "" {
			c.To = c.From
		}
		from, to, err := d.Days(c.From, c.To)
		if err != nil {
			return err
		}
		slots, err := d.SlotCalendar(e.ctx, from, to)
		if err != nil {
			return err
		}
		return list(e, c.JSON, slots, "there are none", "id\topens\tcloses\tphase\tsales", "%s\t%s\t%s\t%s\t%d",
			func(s app.Slot) []any {
				return []any{s.ID, e.wall(s.OpensAt), e.wall(s.ClosesAt), s.Phase, s.Sales}
			})
	})
}

// Run makes what is missing.
func (c *slotTemplate) Run(e *env) error {
	t := app.SlotTemplate{From: c.From, To: c.To}
	if t.To == "" {
		t.To = t.From
	}
	for _, text := range c.Times {
		opens, closes, _ := strings.Cut(text, "-")
		t.Times = append(t.Times, app.SlotTime{Opens: strings.TrimSpace(opens), Closes: strings.TrimSpace(closes)})
	}
	return e.withDesk(c.changing, func(d *app.CatalogueDesk, actor app.Actor) error {
		plan, err := d.ApplyTemplate(e.ctx, actor, c.DryRun, t)
		if err != nil {
			return err
		}
		if c.JSON {
			err = e.json(plan)
		} else {
			err = table(e, 0, "day\topens\tcloses\tstate\t", "%s\t%s\t%s\t%s\t%s", plan.Slots,
				func(s app.PlannedSlot) []any {
					return []any{s.Day, s.Opens, s.Closes, s.State, s.Says}
				})
			fmt.Fprintf(e.out, "%d new, %d wrong\n", plan.New, plan.Wrong)
		}
		if err == nil && plan.Wrong > 0 {
			err = errors.New("the template does not fit, so nothing of it would be made")
		}
		return err
	})
}

// Run removes.
func (c *slotRemove) Run(e *env) error {
	return e.withDesk(c.changing, func(d *app.CatalogueDesk, actor app.Actor) error {
		s, err := d.RemoveSlot(e.ctx, actor, c.DryRun, c.ID)
		if err != nil {
			return err
		}
		return e.did(c.changing, s, "removed slot %s", s.ID)
	})
}
