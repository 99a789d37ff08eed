package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"stampede/app/server"
)

type health struct{}

func (health) Help() string {
	return "Calls /readyz of the node on this machine, at STAMPEDE_METRICS_LISTEN: for health checks of containers, which " +
		"have no shell. The exit code is 3 while the node is not ready, and 1 if it does not respond.\n\n" +
		"Example:\n\n    stampede health"
}

// healthTimeout limits the call.
const healthTimeout = 3 * time.Second

func (health) Run(e *env) error {
	config, err := e.config()
	if err != nil {
		return err
	}
	if config.MetricsListen == "off" {
		return fmt.Errorf("%w: STAMPEDE_METRICS_LISTEN is off, so this node has no address for health checks", errUsage)
	}
	ctx, cancel := context.WithTimeout(e.ctx, healthTimeout)
	defer cancel()
	address := "http://" + server.About{Addr: config.MetricsListen}.Local() + "/readyz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call the node: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	if err != nil {
		return fmt.Errorf("call the node: %w", err)
	}
	fmt.Fprintln(e.out, strings.TrimSpace(string(text)))
	if res.StatusCode != http.StatusOK {
		return errNodeNotReady
	}
	return nil
}
