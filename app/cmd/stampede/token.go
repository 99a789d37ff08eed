package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"stampede/app/server"
	"stampede/app/shop"
)

type token struct {
	Sign   tokenSign   `cmd:"" default:"withargs" help:"Sign an access token for a user."`
	Rotate tokenRotate `cmd:"" help:"Replace the signing key."`
}

type (
	tokenSign struct {
		User shop.ID       `required:"" placeholder:"ID" help:"Id of the user, a positive number."`
		Role shop.Role     `default:"shopper" enum:"shopper,operator,admin" help:"Role of the user: ${enum}."`
		TTL  time.Duration `name:"ttl" default:"1h" help:"Lifetime, for example 90s, 5m or 12h."`

		Generation int64 `default:"0" help:"Generation of the key while the database is unreachable, as printed by \"stampede token rotate\"."`
	}
	tokenRotate struct {
		Now  bool `help:"Invalidate all tokens that were signed before. Guests lose access to their data; other users refresh their tokens."`
		JSON bool `name:"json" help:"Print JSON, for scripts."`
		actorFlags
	}
)

func (token) Help() string {
	return "Signs with the current key. It is derived from STAMPEDE_JWT_SECRET, or from the key in the data folder of " +
		"embedded stores, and from all rotations so far. While the database is unreachable, the token is signed with " +
		"--generation.\n\nExamples:\n\n    stampede token --user 1001\n" +
		"    stampede token --user 7 --role operator --ttl 8h\n" +
		"    stampede token rotate"
}

func (tokenRotate) Help() string {
	return "Each rotation derives the next key from the secret. Nodes apply it within two seconds, without a restart. " +
		"Tokens of the previous key stay valid for 12 hours, the longest lifetime of a token that the server " +
		"issues; a token that \"stampede token\" signed with a longer --ttl ends then, too. Refresh tokens are not signed and stay valid. Without --now, the key can be rotated once in 12 hours. Use --now " +
		"when an access token, a key or the secret may have leaked: later keys are then also derived from a random " +
		"value in the database. Passes and the seals of refresh tokens are derived from the secret alone: if the " +
		"secret may have leaked, also set another STAMPEDE_JWT_SECRET on all nodes. That ends all tokens and " +
		"logins.\n\nExamples:\n\n    stampede token rotate\n" +
		"    stampede token rotate --now"
}

// maxTokenTTL limits the lifetime of a token, so that a typing error cannot create a permanent one.
const maxTokenTTL = 31 * 24 * time.Hour

// Run prints only the token.
func (c *tokenSign) Run(e *env) error {
	if c.TTL < time.Second || c.TTL > maxTokenTTL {
		return fmt.Errorf("%w: --ttl is %v, want 1s to %v", errUsage, c.TTL, maxTokenTTL)
	}
	config, issuer, err := e.issuer()
	if errors.Is(err, shop.ErrTransient) && !errors.Is(err, shop.ErrMisconfigured) {
		fmt.Fprintf(e.err, "the database is unreachable: the token is signed with generation %d of the key. If the key was "+
			"rotated since, nodes reject it: set --generation\n", c.Generation)
		issuer, err = server.OfflineIssuer(config, c.Generation)
	}
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
	return e.withActor(c.actorFlags, func(t *server.Tools) error {
		g, err := t.RotateKey(e.ctx, c.Now)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(e.out).Encode(map[string]any{"generation": g.Number, "since": g.Since, "oldest": g.Oldest})
		}
		fmt.Fprintf(e.out, "the server signs with generation %d of the key within two seconds\n", g.Number)
		return nil
	})
}
