package main

import (
	"fmt"
	"net/http"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
)

type block struct {
	Add    blockAdd    `cmd:"" help:"Keep a user, an address or a network out."`
	List   blockList   `cmd:"" help:"List who is kept out, oldest first."`
	Remove blockRemove `cmd:"" help:"Let somebody in again."`
}

type (
	blockAdd struct {
		User    shop.ID       `xor:"whom" placeholder:"ID" help:"A user."`
		Address string        `xor:"whom" placeholder:"IP" help:"One address; of IPv6 its /64, which is one customer's."`
		Network string        `xor:"whom" placeholder:"CIDR" help:"A network, at least /8, of IPv6 /16."`
		Reason  string        `help:"For other operators; shoppers are not told."`
		For     time.Duration `help:"How long, like 90s, 5m or 24h; without it until it is removed."`
		operating
	}
	blockList   struct{ reading }
	blockRemove struct {
		ID int64 `arg:"" help:"As the list shows it."`
		operating
	}
)

func (block) Help() string {
	return "All nodes follow within a second: connections of a blocked address are closed before a word is said, requests and " +
		"handshakes answer forbidden, so do tokens of a blocked user, and open sockets are closed with 4507. What was reserved or " +
		"ordered before stays as it is. Behind a proxy an address counts only where STAMPEDE_TRUSTED_PROXIES names the proxy.\n\n" +
		"An office or a mobile carrier shares one address: block users rather than addresses where you can, and for a time.\n\n" +
		"Examples:\n\n    stampede block add --user 7301444300000000007 --reason 'resells'\n" +
		"    stampede block add --network 203.0.113.0/24 --for 1h --reason 'flood'\n" +
		"    stampede block list\n    stampede block remove 3"
}

func (c *blockAdd) whom() store.Block {
	b := store.Block{Reason: c.Reason}
	switch {
	case c.User != 0:
		b.Kind, b.Value = store.BlockUser, c.User.String()
	case c.Address != "":
		b.Kind, b.Value = store.BlockAddress, c.Address
	case c.Network != "":
		b.Kind, b.Value = store.BlockNetwork, c.Network
	}
	return b
}

func (c *blockAdd) Run(e *env) error {
	b := c.whom()
	if b.Kind == "" {
		return fmt.Errorf("%w: say whom: --user, --address or --network", errUsage)
	}
	if c.For < 0 || c.For > backoffice.MaxBlock {
		return fmt.Errorf("%w: --for is %v, want at most %v, or nothing for ever", errUsage, c.For, backoffice.MaxBlock)
	}
	if err := backoffice.NormalizeBlock(&b); err != nil {
		return fmt.Errorf("%w: %s", errUsage, shop.AsError(err).Message)
	}
	if c.For > 0 {
		b.Until = shop.MillisOf(time.Now().Add(c.For))
	}
	return e.operate(c.operating, func(api *client) error {
		body := map[string]any{"kind": b.Kind, "value": b.Value, "reason": b.Reason, "until": b.Until}
		var added store.Block
		err := api.act(http.MethodPost, "/blocks", body, &added)
		return e.result(c.JSON, err, added, "blocked %s %s, number %d", added.Kind, added.Value, added.ID)
	})
}

func (c blockList) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		blocks, _, err := page[store.Block](api, collection{"/blocks", "blocks"}, nil)
		return list(e, c.JSON, err, blocks, listing[store.Block]{
			none: "nobody is blocked", head: "id\tkind\twhom\tsince\tuntil\tby\treason",
			columns: func(b store.Block) []any {
				until := "removed"
				if b.Until != 0 {
					until = e.wall(b.Until)
				}
				return []any{b.ID, b.Kind, b.Value, e.wall(b.CreatedAt), until, b.CreatedBy, b.Reason}
			},
		})
	})
}

func (c blockRemove) Run(e *env) error {
	return e.operate(c.operating, func(api *client) error {
		err := api.act(http.MethodDelete, fmt.Sprintf("/blocks/%d", c.ID), nil, nil)
		return e.result(c.JSON, err, []int64{c.ID}, "removed %d", c.ID)
	})
}
