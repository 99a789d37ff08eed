package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"stampede/app/alipay/sim"
	"stampede/app/server"
)

type alipaySim struct {
	Listen string `default:"127.0.0.1:8091" help:"Listen address of the gateway and its cashier, host:port."`
	Data   string `default:"stampede-alipay" help:"Folder for the keys and for a file env with the settings of serve."`
}

func (alipaySim) Help() string {
	return "Simulates the Alipay gateway: shops sign their requests, buyers pay at its cashier, and no real money " +
		"moves. Each start creates new keys and an empty ledger. POST /admin/faults injects faults, and " +
		"/admin/ledger reports every fen.\n\nExamples:\n\n    stampede alipay-sim\n" +
		"    set -a; . stampede-alipay/env; stampede serve            (in another terminal)\n" +
		"    curl -d '{\"kind\":\"notify_lose\",\"times\":1}' http://127.0.0.1:8091/admin/faults"
}

func (c *alipaySim) Run(e *env) error {
	s, err := startSimulator(c.Listen)
	if err != nil {
		return err
	}
	defer s.close()
	path, err := s.writeEnv(c.Data)
	if err != nil {
		return err
	}
	fmt.Fprintf(e.out, "The simulated Alipay listens on %s\n\nStart the shop with:  set -a; . %s; stampede serve\n",
		s.base, path)
	select {
	case <-e.ctx.Done():
		return nil
	case err := <-s.serveErr:
		return err
	}
}

// simulator is a listening Alipay simulator.
type simulator struct {
	*sim.Simulator
	base     string // http://host:port
	server   *http.Server
	serveErr chan error
}

// startSimulator starts a simulator at host:port. Port 0 selects a free port.
func startSimulator(listen string) (*simulator, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("listen for the simulated Alipay: %w", err)
	}
	sim, err := sim.New(sim.Options{})
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	s := &simulator{
		Simulator: sim, base: "http://" + server.About{Addr: l.Addr().String()}.Local(), serveErr: make(chan error, 1),
		server: &http.Server{Handler: sim, ReadHeaderTimeout: 5 * time.Second, IdleTimeout: time.Minute},
	}
	go func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.serveErr <- err
		}
	}()
	return s, nil
}

func (s *simulator) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.server.Shutdown(ctx) != nil { // a call is still waiting for a simulated slow reply
		_ = s.server.Close()
	}
	s.Close()
}

// writeEnv writes the keys to files and their paths to a file for a shell. It returns the path of that file.
func (s *simulator) writeEnv(folder string) (string, error) {
	private, public, err := s.Keys().PEM()
	if err != nil {
		return "", err
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return "", err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	privateFile, publicFile := filepath.Join(folder, "app-private.pem"), filepath.Join(folder, "alipay-public.pem")
	lines := append(s.Keys().Settings(s.base),
		"STAMPEDE_ALIPAY_PRIVATE_KEY_FILE='"+privateFile+"'", "STAMPEDE_ALIPAY_PUBLIC_KEY_FILE='"+publicFile+"'", "")
	path := filepath.Join(folder, "env")
	return path, errors.Join(
		os.WriteFile(privateFile, []byte(private), 0o600), os.WriteFile(publicFile, []byte(public), 0o600),
		os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600),
	)
}
