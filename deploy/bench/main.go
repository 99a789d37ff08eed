package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// flags select the measurement and the measured programs.
type flags struct {
	bin    string // folder with stampede, stampede-bench and the test binaries
	out    string // folder of the results
	rounds int
	scale  float64 // factor for crowd sizes and times; the bars apply to scale 1
	render bool
	old    string // folder with an older stampede, to measure both in turns
	pairs  int
}

func main() {
	var f flags
	flag.StringVar(&f.bin, "bin", "", "folder of the measured programs (bench.sh builds them)")
	flag.StringVar(&f.out, "out", "deploy/load", "folder of the results")
	flag.IntVar(&f.rounds, "rounds", 5, "number of rounds")
	flag.Float64Var(&f.scale, "scale", 1, "factor for crowd sizes and times; below 1 for a trial run")
	flag.BoolVar(&f.render, "render", false, "do not measure: render the pages from the stored rounds")
	flag.StringVar(&f.old, "old", "", "folder with an older stampede: measure both in turns and write no files")
	flag.IntVar(&f.pairs, "pairs", 12, "number of turns of each program")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, f); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, f flags) error {
	if f.old != "" {
		return pairs(ctx, f)
	}
	if !f.render {
		if err := measure(ctx, f); err != nil {
			return err
		}
	}
	rounds, err := readRounds(f.out)
	if err != nil {
		return err
	}
	machines, err := readMachines(f.out)
	if err != nil {
		return err
	}
	written, err := pages(rounds, machines)
	if err == nil {
		err = appendRolling(f.out, written)
	}
	for name, text := range written {
		err = errors.Join(err, os.WriteFile(filepath.Join(f.out, name), text, 0o644))
	}
	_, printed := os.Stdout.Write(written["RESULTS.md"])
	return errors.Join(err, printed)
}

// measure runs all rounds, then replaces the stored rounds of an earlier run.
func measure(ctx context.Context, f flags) error {
	s, err := openStores(ctx)
	if err != nil {
		return err
	}
	defer s.close()
	machine, err := describe(ctx, s)
	if err != nil {
		return err
	}
	old, err := filepath.Glob(filepath.Join(f.out, "round-*.json"))
	if err != nil {
		return err
	}
	var fresh []Round
	for i := range f.rounds {
		began := time.Now()
		r := Round{Number: i + 1, Began: began.UTC().Format(time.RFC3339), Scale: f.scale, Machine: machine}
		if err := (&runner{flags: f, stores: s, round: &r}).run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", r.Number, err)
		}
		r.Seconds = time.Since(began).Seconds()
		fmt.Fprintf(os.Stderr, "round %d of %d took %.0f s\n", r.Number, f.rounds, r.Seconds)
		fresh = append(fresh, r)
	}
	for _, path := range old {
		err = errors.Join(err, os.Remove(path))
	}
	return errors.Join(err, writeRounds(f.out, fresh), storeMachine(f.out, fresh))
}
