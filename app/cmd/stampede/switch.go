package main

import (
	"net/http"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type switchCmd struct {
	Show switchShow `cmd:"" help:"Show the switches."`
	Set  switchSet  `cmd:"" help:"Set switches."`
}

type (
	switchShow struct{ readFlags }
	switchSet  struct {
		TickMS         *int              `name:"tick-ms" placeholder:"MS" help:"Interval of ticks in milliseconds, 100 to 2000."`
		HTTPBuy        *bool             `name:"http-buy" negatable:"" help:"Accept buys over HTTP."`
		LeastChallenge *shop.Challenge   `placeholder:"KIND" help:"Minimum challenge of all sales: none, pass, work or captcha."`
		Lists          *backoffice.Lists `placeholder:"HOW" help:"live, or cached: lists may be 3 seconds old."`
		WorkBits       *int              `placeholder:"N" help:"Difficulty of proofs of work, 1 to 26 bits."`
		operationFlags
	}
)

func (switchCmd) Help() string {
	return "Switches reduce the load of a shop while it continues to sell. All nodes apply them within a second. " +
		"Fewer ticks reduce network traffic most. With buys over HTTP off, the page buys over its socket. A " +
		"minimum challenge slows down robots in all sales at once.\n\nExamples:\n\n" +
		"    stampede switch set --tick-ms 500 --lists cached\n" +
		"    stampede switch set --no-http-buy --note 'robots'\n" +
		"    stampede switch show"
}

func (e *env) showSwitches(asJSON bool, err error, s backoffice.Switches) error {
	return e.result(asJSON, err, s,
		"tick-ms          %d\nhttp-buy         %v\nleast-challenge  %s\nlists            %s\nwork-bits        %d",
		s.TickMS, s.HTTPBuy, s.LeastChallenge, s.Lists, s.WorkBits)
}

func (c switchShow) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var s backoffice.Switches
		err := api.get("/switches", nil, &s)
		return e.showSwitches(c.JSON, err, s)
	})
}

func (c *switchSet) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
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
	err = c.change(http.MethodPatch, "/switches", edit, &s)
	return s, err
}
