package main

import (
	"fmt"
	"net/http"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type noticeCmd struct {
	Say noticeShow `cmd:"" help:"Show a banner to all shoppers."`
	End noticeEnd  `cmd:"" help:"End the banner."`
}

type (
	noticeShow struct {
		Text string        `arg:"" help:"Text of the banner."`
		Lang string        `help:"Language of the text, for example zh: adds a translation to the current banner. Without it, a new banner for all other languages."`
		Warn bool          `help:"Show it as a warning instead of as information."`
		For  time.Duration `help:"Duration, for example 5m or 2h. Default: until notice end."`
		operationFlags
	}
	noticeEnd struct{ operationFlags }
)

func (noticeCmd) Help() string {
	return "Connected shoppers get the banner within a second, on all nodes. Shoppers that connect later get it at " +
		"once. There is one banner: a new banner replaces the current one.\n\nExamples:\n\n" +
		"    stampede notice say 'More kettles at noon.' --for 2h\n" +
		"    stampede notice say 中午补货 --lang zh --for 2h\n" +
		"    stampede notice end"
}

func (c *noticeShow) Run(e *env) error {
	if c.For < 0 || c.For > backoffice.MaxBlock {
		return fmt.Errorf("%w: --for is %v, want at most %v", errUsage, c.For, backoffice.MaxBlock)
	}
	n := backoffice.NewNotice{Level: "info", Text: c.Text, Lang: c.Lang}
	if c.Warn {
		n.Level = "warning"
	}
	if c.For > 0 {
		n.Until = shop.MillisOf(time.Now().Add(c.For))
	}
	return e.operate(c.operationFlags, func(api *client) error {
		var notice shop.Notice
		err := api.change(http.MethodPost, "/notice", n, &notice)
		return e.result(c.JSON, err, notice, "all nodes show the banner within a second")
	})
}

func (c *noticeEnd) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		var n shop.Notice
		err := api.change(http.MethodDelete, "/notice", nil, &n)
		return e.result(c.JSON, err, n, "new connections do not get the banner")
	})
}
