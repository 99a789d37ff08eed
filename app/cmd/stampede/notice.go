package main

import (
	"fmt"
	"net/http"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type noticeCmd struct {
	Say noticeSay `cmd:"" help:"Tell all shoppers something."`
	End noticeEnd `cmd:"" help:"Tell it to nobody any more who comes."`
}

type (
	noticeSay struct {
		Text string        `arg:"" help:"What they are told."`
		Lang string        `help:"In which language, like zh: the same notice for those who read that. Without it, a new notice for everybody else."`
		Warn bool          `help:"A warning, not just information."`
		For  time.Duration `help:"How long whoever comes is told it, like 5m or 2h; without it, until it is ended."`
		operating
	}
	noticeEnd struct{ operating }
)

func (noticeCmd) Help() string {
	return "Whoever is connected to any node hears it within a second, whoever comes while it stands hears it then. There is one at a " +
		"time: a new one takes the place of the one before.\n\nExamples:\n\n" +
		"    stampede notice say 'More kettles at noon.' --for 2h\n    stampede notice say 中午补货 --lang zh --for 2h\n" +
		"    stampede notice end"
}

func (c *noticeSay) Run(e *env) error {
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
	return e.operate(c.operating, func(api *client) error {
		var said shop.Notice
		err := api.act(http.MethodPost, "/notice", n, &said)
		return e.result(c.JSON, err, said, "all nodes say so within a second")
	})
}

func (c *noticeEnd) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		var n shop.Notice
		err := api.act(http.MethodDelete, "/notice", nil, &n)
		return e.result(c.JSON, err, n, "nobody is told any more who comes")
	})
}
