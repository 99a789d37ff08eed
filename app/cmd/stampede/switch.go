package main

import (
	"net/http"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type switchCmd struct {
	Show switchShow `cmd:"" help:"Show how they stand."`
	Set  switchSet  `cmd:"" help:"Turn some."`
}

type (
	switchShow struct{ reading }
	switchSet  struct {
		TickMS         *int              `name:"tick-ms" placeholder:"MS" help:"Between two ticks, 100 to 2000."`
		HTTPBuy        *bool             `name:"http-buy" negatable:"" help:"Take buys over HTTP."`
		LeastChallenge *shop.Challenge   `placeholder:"KIND" help:"Every sale asks for at least that: none, pass, work or captcha."`
		Lists          *backoffice.Lists `placeholder:"HOW" help:"live, or cached: lists may be three seconds old."`
		WorkBits       *int              `placeholder:"N" help:"How hard proofs of work are, 1 to 26 bits."`
		operating
	}
)

func (switchCmd) Help() string {
	return "Switches take load off a shop that goes on selling; all nodes follow within a second. Fewer ticks save the network most. " +
		"Without buys over HTTP, the page goes on buying over its socket. A least challenge slows robots down in all sales at once.\n\n" +
		"Examples:\n\n    stampede switch set --tick-ms 500 --lists cached\n    stampede switch set --no-http-buy --note 'robots'\n" +
		"    stampede switch show"
}

func (e *env) showSwitches(asJSON bool, err error, s backoffice.Switches) error {
	return e.result(asJSON, err, s,
		"tick-ms          %d\nhttp-buy         %v\nleast-challenge  %s\nlists            %s\nwork-bits        %d",
		s.TickMS, s.HTTPBuy, s.LeastChallenge, s.Lists, s.WorkBits)
}

func (c switchShow) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		var s backoffice.Switches
		err := api.get("/switches", nil, &s)
		return e.showSwitches(c.JSON, err, s)
	})
}

func (c *switchSet) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		s, err := api.editSwitches(backoffice.SwitchesEdit{
			TickMS: c.TickMS, HTTPBuy: c.HTTPBuy, LeastChallenge: c.LeastChallenge, Lists: c.Lists,
			WorkBits: c.WorkBits,
		})
		return e.showSwitches(c.JSON, err, s)
	})
}

// editSwitches changes switches at their current version.
func (c *client) editSwitches(edit backoffice.SwitchesEdit) (s backoffice.Switches, err error) {
	if edit.Version, err = c.version("/switches", 0); err != nil {
		return s, err
	}
	err = c.act(http.MethodPatch, "/switches", edit, &s)
	return s, err
}
