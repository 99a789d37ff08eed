package main

import (
	"fmt"
	"time"

	"stampede/app/backoffice"
	"stampede/app/server"
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
		JSON    bool          `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
	blockList struct {
		JSON bool `name:"json" help:"Print JSON, for scripts."`
	}
	blockRemove struct {
		ID   int64 `arg:"" help:"Id from the list."`
		JSON bool  `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
)

func (block) Help() string {
	return "All nodes apply it within a second: they reject requests and socket handshakes of a blocked address or user " +
		"with forbidden, and close open sockets with 4507. Existing reservations and orders stay. Behind a " +
		"proxy, address blocks need STAMPEDE_TRUSTED_PROXIES to name the proxy.\n\nThe commands open the database " +
		"directly, so they also help operators who have blocked themselves.\n\nMany people share the address of an office or a mobile " +
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
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		blocks, err := t.Blocks(e.ctx)
		if err != nil {
			return err
		}
		added, err := blocks.AddBlock(e.ctx, t.Actor, b, c.For)
		return e.result(c.JSON, err, added, "blocked %s %s, number %d", added.Kind, added.Value, added.ID)
	})
}

func (c blockList) Run(e *env) error {
	return e.withTools(func(t *server.Tools) error {
		service, err := t.Blocks(e.ctx)
		if err != nil {
			return err
		}
		blocks, err := service.ListBlocks(e.ctx)
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
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		blocks, err := t.Blocks(e.ctx)
		if err != nil {
			return err
		}
		err = blocks.RemoveBlock(e.ctx, t.Actor, c.ID)
		return e.result(c.JSON, err, []int64{c.ID}, "removed block %d", c.ID)
	})
}
