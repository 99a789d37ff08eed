package main

import (
	"fmt"
	"time"

	"stampede/app"
	"stampede/app/server"
)

type token struct {
	User app.ID        `required:"" placeholder:"ID" help:"Whose token it is, a positive number."`
	Role app.Role      `default:"shopper" enum:"shopper,operator,admin" help:"What the user may do: ${enum}."`
	TTL  time.Duration `name:"ttl" default:"1h" help:"How long it lives, like 90s, 5m or 12h."`
}

// Help shows examples.
func (token) Help() string {
	return "Signed with STAMPEDE_JWT_SECRET, on embedded stores with the key in the data folder.\n\nExamples:\n\n" +
		"    stampede token --user 1001\n    stampede token --user 7 --role operator --ttl 8h"
}

// longestToken keeps a slip of the keyboard from making a token for ever.
const longestToken = 31 * 24 * time.Hour

// Run prints the token and nothing else.
func (c *token) Run(e *env) error {
	if c.TTL < time.Second || c.TTL > longestToken {
		return fmt.Errorf("%w: --ttl is %v, want 1s to %v", errUsage, c.TTL, longestToken)
	}
	config, err := e.config()
	if err != nil {
		return err
	}
	signed, err := server.Issue(config, c.User, c.Role, c.TTL)
	if err == nil {
		fmt.Fprintln(e.out, signed)
	}
	return err
}
