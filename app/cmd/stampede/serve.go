package main

import (
	"fmt"
	"log/slog"
	"os/signal"
	"strings"
	"syscall"

	"stampede/app/server"
)

type serve struct {
	Migrate bool `help:"Migrate the schema of the database first."`
}

// Help lists all variables with their defaults.
func (serve) Help() string {
	var b strings.Builder
	b.WriteString("Without STAMPEDE_REDIS_URL and STAMPEDE_MYSQL_DSN the node runs on embedded stores, for tests; " +
		"with both, on real stores. SIGTERM or Ctrl-C shuts it down in order.\n\nExamples:\n\n" +
		"    stampede serve\n" +
		"    STAMPEDE_LISTEN=:8080 STAMPEDE_ROLES=api stampede serve\n" +
		"    STAMPEDE_JWT_SECRET_FILE=/run/secrets/jwt stampede serve --migrate\n\nVariables:\n\n")
	for _, v := range server.Variables() {
		helpText := v.Description
		switch {
		case v.Strict != "":
			helpText += " (" + v.Default + "; strict: " + v.Strict + ")"
		case v.Default != "":
			helpText += " (" + v.Default + ")"
		}
		if v.Secret {
			helpText += "; or " + v.Name + "_FILE"
		}
		fmt.Fprintf(&b, "    %s\n        %s\n", v.Name, helpText)
	}
	return b.String()
}

func (s *serve) Run(e *env) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	// Without a reader of the log, writes fail, and the node continues. The default action of SIGPIPE would end it at
	// once.
	signal.Ignore(syscall.SIGPIPE)
	slog.SetDefault(config.Logger(e.err))
	node, err := server.New(config, server.Options{Version: version, Migrate: s.Migrate})
	if err != nil {
		return err
	}
	return node.Run(e.ctx)
}
