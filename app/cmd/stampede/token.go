package main

import (
	"encoding/json"
	"fmt"
	"time"

	"stampede/app/server"
	"stampede/app/shop"
)

type token struct {
	Sign   tokenSign   `cmd:"" default:"withargs" help:"Sign an access token for a user."`
	Rotate tokenRotate `cmd:"" help:"Sign with a new key from now on."`
}

type (
	tokenSign struct {
		User shop.ID       `required:"" placeholder:"ID" help:"Whose token it is, a positive number."`
		Role shop.Role     `default:"shopper" enum:"shopper,operator,admin" help:"What the user may do: ${enum}."`
		TTL  time.Duration `name:"ttl" default:"1h" help:"How long it lives, like 90s, 5m or 12h."`
	}
	tokenRotate struct {
		Now  bool `help:"End all tokens that were signed before: guests lose what is theirs, others refresh."`
		JSON bool `name:"json" help:"For scripts."`
		acting
	}
)

func (token) Help() string {
	return "Signed with the present key: STAMPEDE_JWT_SECRET, or the key in the data folder on embedded stores, and what " +
		"rotations have made of it.\n\nExamples:\n\n" +
		"    stampede token --user 1001\n    stampede token --user 7 --role operator --ttl 8h\n    stampede token rotate"
}

func (tokenRotate) Help() string {
	return "Each rotation derives the next key from the secret; nodes follow within two seconds, without a restart. Tokens of the key " +
		"before count for 12 hours more, as long as any that was given to people lives; refresh tokens are not signed and stay. " +
		"Rotate as often as your rules ask, and with --now when an access token, a key or the secret may be in wrong hands: later keys " +
		"are derived from a random value in the database, too. Passes and the seals of refresh tokens are derived from the secret " +
		"alone: if that may be known, set another STAMPEDE_JWT_SECRET on all nodes as well. That ends all tokens and log ins.\n\n" +
		"Examples:\n\n    stampede token rotate\n    stampede token rotate --now"
}

// maxToken limits the lifetime of a token, so that a typing error cannot create a permanent one.
const maxToken = 31 * 24 * time.Hour

// Run prints only the token.
func (c *tokenSign) Run(e *env) error {
	if c.TTL < time.Second || c.TTL > maxToken {
		return fmt.Errorf("%w: --ttl is %v, want 1s to %v", errUsage, c.TTL, maxToken)
	}
	_, issuer, err := e.issuer()
	if err != nil {
		return err
	}
	signed, err := issuer.Issue(c.User, "User "+c.User.String(), c.Role, c.TTL)
	if err == nil {
		fmt.Fprintln(e.out, signed)
	}
	return err
}

func (c tokenRotate) Run(e *env) error {
	return e.withActs(c.acting, func(t *server.Tools) error {
		g, err := t.RotateKey(e.ctx, c.Now)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(e.out).Encode(map[string]any{"generation": g.Number, "since": g.Since, "oldest": g.Oldest})
		}
		fmt.Fprintf(e.out, "generation %d of the key signs from now on\n", g.Number)
		return nil
	})
}
