package main

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/user"
	"strings"

	"stampede/app/journal"
	"stampede/app/server"
	"stampede/app/shop"
)

type (
	// serverFlags contains the flags of commands that call a server.
	serverFlags struct {
		Server string `placeholder:"URL" help:"Address of the server. Default: STAMPEDE_URL, else http://127.0.0.1:8080."`
	}
	// readFlags contains the flags of commands that show data.
	readFlags struct {
		serverFlags

		JSON bool `name:"json" help:"Print JSON, for scripts."`
	}
	// keyFlags contains the flags of commands that change data.
	keyFlags struct {
		readFlags

		Key string `placeholder:"KEY" help:"For scripts that retry: an operation with the same key (and --version) runs only once."`
	}
	// operationFlags is keyFlags with a reason for the journal.
	operationFlags struct {
		keyFlags

		Note string `help:"Reason, for the journal."`
	}
)

// actorFlags contains the flags of commands that change the stores directly: the author and the reason for the journal.
type actorFlags struct {
	Note string `help:"Reason, for the journal."`
	By   string `placeholder:"NAME" help:"Name of the operator, for the journal. Default: your user name on this machine."`
	Key  string `placeholder:"KEY" help:"For scripts that retry: an operation with the same key runs only once."`
}

// withActor is withTools for commands that change data.
func (e *env) withActor(a actorFlags, action func(t *server.Tools) error) error {
	actor, err := e.actor(a)
	if err != nil {
		return err
	}
	return e.withToolsAs(actor, action)
}

// actor returns the author of an operation for the journal. The role is admin, because the caller of this command has
// access to the stores.
func (e *env) actor(a actorFlags) (journal.Actor, error) {
	if a.Key == "" {
		a.Key = "cli-" + strings.ToLower(rand.Text())
	}
	if err := journal.CheckOperationKey(a.Key); err != nil {
		return journal.Actor{}, fmt.Errorf("%w: --key must be 8 to 64 characters of A-Z a-z 0-9 _ -", errUsage)
	}
	if u, err := user.Current(); err == nil {
		a.By = cmp.Or(a.By, u.Username)
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	arguments := sha256.Sum256([]byte(strings.Join(e.args, "\x00")))
	return journal.Actor{
		Name: cmp.Or(a.By, "unknown"), Role: shop.Admin, Via: journal.ViaCLI, From: host, Key: a.Key,
		Hash: hex.EncodeToString(arguments[:]), Note: a.Note,
	}, nil
}
