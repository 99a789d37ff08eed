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
	Add    blockAdd    `cmd:"" help:"Block a user, an address or a network."`
	List   blockList   `cmd:"" help:"List blocks, oldest first."`
	Remove blockRemove `cmd:"" help:"Remove a block."`
}

type (
	blockAdd struct {
		User    shop.ID       `xor:"whom" placeholder:"ID" help:"Block this user."`
		Address string        `xor:"whom" placeholder:"IP" help:"Block this address. An IPv6 address blocks its /64, which belongs to one customer."`
		Network string        `xor:"whom" placeholder:"CIDR" help:"Block this network. The shortest prefix is /8 for IPv4 and /16 for IPv6."`
		Reason  string        `help:"Reason, for other operators. Shoppers do not see it."`
		For     time.Duration `help:"Duration, for example 90s, 5m or 24h. Default: until the block is removed."`
		operationFlags
	}
	blockList   struct{ readFlags }
	blockRemove struct {
		ID int64 `arg:"" help:"Id from the list."`
		operationFlags
	}
)

func (block) Help() string {
	return "All nodes apply it within a second: they reject requests and socket handshakes of a blocked address or user " +
		"with forbidden, and close open sockets with 4507. Existing reservations and orders stay. Behind a " +
		"proxy, address blocks need STAMPEDE_TRUSTED_PROXIES to name the proxy.\n\nMany people share the address of an office or a mobile " +
		"carrier: prefer blocks of users, and set a duration.\n\nExamples:\n\n" +
		"    stampede block add --user 7301444300000000007 --reason 'resells'\n" +
		"    stampede block add --network 203.0.113.0/24 --for 1h --reason 'flood'\n" +
		"    stampede block list\n" +
		"    stampede block remove 3"
}

func (c *blockAdd) blockOf() store.Block {
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
	b := c.blockOf()
	if b.Kind == "" {
		return fmt.Errorf("%w: set --user, --address or --network", errUsage)
	}
	if c.For < 0 || c.For > backoffice.MaxBlock {
		return fmt.Errorf("%w: --for is %v, want at most %v; omit it for a block without end", errUsage, c.For, backoffice.MaxBlock)
	}
	if err := backoffice.NormalizeBlock(&b); err != nil {
		return fmt.Errorf("%w: %s", errUsage, shop.AsError(err).Message)
	}
	if c.For > 0 {
		b.Until = shop.MillisOf(time.Now().Add(c.For))
	}
	return e.operate(c.operationFlags, func(api *client) error {
		body := map[string]any{"kind": b.Kind, "value": b.Value, "reason": b.Reason, "until": b.Until}
		var added store.Block
		err := api.change(http.MethodPost, "/blocks", body, &added)
		return e.result(c.JSON, err, added, "blocked %s %s, number %d", added.Kind, added.Value, added.ID)
	})
}

func (c blockList) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		blocks, _, err := page[store.Block](api, collection{"/blocks", "blocks"}, nil)
		return list(e, c.JSON, err, blocks, listing[store.Block]{
			none: "no blocks", head: "id\tkind\twhom\tsince\tuntil\tby\treason",
			columns: func(b store.Block) []any {
				until := "removed"
				if b.Until != 0 {
					until = e.localTime(b.Until)
				}
				return []any{b.ID, b.Kind, b.Value, e.localTime(b.CreatedAt), until, b.CreatedBy, b.Reason}
			},
		})
	})
}

func (c blockRemove) Run(e *env) error {
	return e.operate(c.operationFlags, func(api *client) error {
		err := api.change(http.MethodDelete, fmt.Sprintf("/blocks/%d", c.ID), nil, nil)
		return e.result(c.JSON, err, []int64{c.ID}, "removed block %d", c.ID)
	})
}
