package main

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type slotCmd struct {
	Create   slotCreate   `cmd:"" help:"Create a slot."`
	List     slotList     `cmd:"" help:"Show the calendar."`
	Template slotTemplate `cmd:"" help:"Create the same slots on several days: all of them, or none."`
	Remove   slotRemove   `cmd:"" help:"Remove a slot that has no sales or only archived sales."`
}

func (slotCmd) Help() string {
	return "Times are in the time zone of the shop (STAMPEDE_TIME_ZONE). A time that a clock change skips or repeats " +
		"is reported and never moved.\n\nExamples:\n\n" +
		"    stampede slot template --from 2026-11-25 --to 2026-12-01 --times 10:00-12:00,20:00-24:00 --dry-run\n" +
		"    stampede slot list --from 2026-11-25"
}

type (
	slotCreate struct {
		Opens  string `required:"" placeholder:"'2026-11-25 10:00'" help:"Opening of the slot."`
		Closes string `required:"" placeholder:"'2026-11-25 12:00'" help:"Close of the slot."`
		changeFlags
	}
	slotList struct {
		From backoffice.Day `placeholder:"DAY" help:"First day, for example 2026-11-25. Default: today."`
		To   backoffice.Day `placeholder:"DAY" help:"Last day, inclusive. Default: the first day."`
		readFlags
	}
	slotTemplate struct {
		From  backoffice.Day `required:"" placeholder:"DAY" help:"First day, for example 2026-11-25."`
		To    backoffice.Day `placeholder:"DAY" help:"Last day, inclusive. Default: the first day."`
		Times []string       `required:"" placeholder:"10:00-12:00" help:"Slots of each day."`
		changeFlags
	}
	slotRemove struct {
		ID shop.ID `arg:""`
		changeFlags
	}
)

func (c *slotCreate) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		opens, err := e.instant(c.Opens)
		if err != nil {
			return err
		}
		closes, err := e.instant(c.Closes)
		if err != nil {
			return err
		}
		var s shop.Slot
		err = api.change(http.MethodPost, c.withDryRun("/slots"), backoffice.SlotDraft{OpensAt: opens, ClosesAt: closes}, &s)
		return e.resultOrDryRun(c.changeFlags, err, s, "created slot %s, %s to %s", s.ID, e.localTime(s.OpensAt), e.localTime(s.ClosesAt))
	})
}

func (c *slotList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		if c.From == "" {
			c.From = backoffice.Day(time.Now().In(e.timeZone()).Format(time.DateOnly))
		}
		query := url.Values{"from": {string(c.From)}, "to": {string(cmp.Or(c.To, c.From))}}
		slots, _, err := page[shop.Slot](api, collection{"/slots", "slots"}, query)
		return list(e, c.JSON, err, slots, listing[shop.Slot]{
			none: "no slots", head: "id\topens\tcloses\tphase\tsales",
			columns: func(s shop.Slot) []any {
				return []any{s.ID, e.localTime(s.OpensAt), e.localTime(s.ClosesAt), s.Phase, s.Sales}
			},
		})
	})
}

func (c *slotTemplate) Run(e *env) error {
	t := backoffice.SlotTemplate{From: c.From, To: cmp.Or(c.To, c.From)}
	for _, text := range c.Times {
		opens, closes, _ := strings.Cut(text, "-")
		t.Times = append(
			t.Times, backoffice.SlotTime{Opens: strings.TrimSpace(opens), Closes: strings.TrimSpace(closes)},
		)
	}
	return e.operate(c.operationFlags, func(api *client) error {
		var plan backoffice.SlotPlan
		err := api.change(http.MethodPost, c.withDryRun("/slots/template"), t, &plan)
		err = e.show(c.JSON, err, plan, func() error {
			defer fmt.Fprintf(e.out, "%d new, %d invalid\n", plan.New, plan.Wrong)
			return table(e, "day\topens\tcloses\tstate", plan.Slots,
				func(s backoffice.PlannedSlot) []any { return []any{s.Day, s.Opens, s.Closes, s.State, s.Message} })
		})
		if err == nil && plan.Wrong > 0 {
			err = errors.New("the template has invalid slots, so no slot would be created")
		}
		return err
	})
}

func (c *slotRemove) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var s shop.Slot
		err := api.change(http.MethodDelete, c.withDryRun("/slots/"+c.ID.String()), nil, &s)
		return e.resultOrDryRun(c.changeFlags, err, s, "removed slot %s", s.ID)
	})
}
