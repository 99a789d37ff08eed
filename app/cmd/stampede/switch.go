package main

import (
	"fmt"

	"stampede/app"
	"stampede/app/server"
)

type switchCmd struct {
	Show switchShow `cmd:"" help:"Show how they stand."`
	Set  switchSet  `cmd:"" help:"Turn some."`
}

type (
	switchShow struct {
		JSON bool `name:"json" help:"For scripts."`
	}
	switchSet struct {
		TickMS         *int           `name:"tick-ms" placeholder:"MS" help:"Between two ticks, 100 to 2000."`
		HTTPBuy        *bool          `name:"http-buy" negatable:"" help:"Take buys over HTTP."`
		LeastChallenge *app.Challenge `placeholder:"KIND" help:"Every sale asks for at least that: none, pass, work or captcha."`
		Lists          *app.Lists     `placeholder:"HOW" help:"live, or cached: lists may be three seconds old."`
		WorkBits       *int           `placeholder:"N" help:"How hard proofs of work are, 1 to 26 bits."`
		JSON           bool           `name:"json" help:"For scripts."`

		acting
	}
)

// Help says what each costs and brings.
func (switchCmd) Help() string {
	return "Switches take load off a shop that goes on selling; all nodes follow within a second. Fewer ticks save the network most. " +
		"Without buys over HTTP, the page goes on buying over its socket. A least challenge slows robots down in all sales at once.\n\n" +
		"Examples:\n\n    stampede switch set --tick-ms 500 --lists cached\n    stampede switch set --no-http-buy --note 'robots'\n" +
		"    stampede switch show"
}

func (e *env) showSwitches(asJSON bool, s app.Switches) error {
	if asJSON {
		return e.json(s)
	}
	fmt.Fprintf(e.out, "tick-ms          %d\nhttp-buy         %v\nleast-challenge  %s\nlists            %s\nwork-bits        %d\n", s.TickMS,
		s.HTTPBuy, s.LeastChallenge, s.Lists, s.WorkBits)
	return nil
}

// Run shows.
func (c switchShow) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		s, err := t.Switches(e.ctx)
		if err != nil {
			return err
		}
		return e.showSwitches(c.JSON, s)
	})
}

// Run sets.
func (c *switchSet) Run(e *env) error {
	edit := app.SwitchesEdit{
		Note: c.Note, TickMS: c.TickMS, HTTPBuy: c.HTTPBuy, LeastChallenge: c.LeastChallenge, Lists: c.Lists,
		WorkBits: c.WorkBits,
	}
	return e.withActs(c.acting, func(t *server.Tools) error {
		s, err := t.EditSwitches(e.ctx, edit)
		if err != nil {
			return err
		}
		return e.showSwitches(c.JSON, s)
	})
}
