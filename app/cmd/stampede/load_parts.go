package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"stampede/app/load"
)

// mergeScenario is the one that measures nothing: it puts together what several processes found.
const mergeScenario = "merge"

type partFlags struct {
	Out   string     `type:"path" placeholder:"FILE" help:"Also write the figures with their counts, for merge."`
	Shard load.Shard `default:"1/1" placeholder:"I/N" help:"This is process I of N that press together: their shoppers are all different."`
	At    string     `placeholder:"INSTANT" help:"What is measured begins then, in all of them: seconds since 1970, or like 2026-11-23T20:00:00Z. For one scenario."`
}

// latest is how far ahead --at may lie.
const latest = time.Hour

// begin reads --at; the zero time without one.
func (p *partFlags) begin() (time.Time, error) {
	if p.At == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, p.At)
	if seconds, notSeconds := strconv.ParseInt(p.At, 10, 64); notSeconds == nil {
		at, err = time.Unix(seconds, 0), nil
	}
	switch ahead := time.Until(at); {
	case err != nil:
		return at, fmt.Errorf("%w: --at %q: want seconds since 1970 (like $(($(date +%%s)+20))), or 2026-11-23T20:00:00Z",
			errUsage, p.At)
	case ahead <= 0:
		return at, fmt.Errorf("%w: --at %s: that is %v ago; the crowd has to come in before",
			errUsage, p.At, (-ahead).Round(time.Second))
	case ahead > latest:
		return at, fmt.Errorf("%w: --at %s: want at most %v ahead", errUsage, p.At, latest)
	}
	return at, nil
}

// check says what does not go together.
func (p *partFlags) check(scenarios []string) error {
	if p.At != "" && len(scenarios) > 1 {
		return fmt.Errorf("%w: --at is for one scenario, not for %d", errUsage, len(scenarios))
	}
	if p.Out == "" && p.Shard.Of <= 1 {
		return nil
	}
	for _, s := range load.Scenarios() {
		if !s.Merges() && slices.Contains(scenarios, s.Name) {
			return fmt.Errorf("%w: --out and --shard: what %s finds of several processes cannot be merged", errUsage, s.Name)
		}
	}
	if slices.Contains(scenarios, attackScenario) {
		return fmt.Errorf("%w: attack has no counts for --out, and is one process", errUsage)
	}
	return nil
}

// open makes the file of --out before anything is measured, so that no run is lost to a folder that is not there.
func (p *partFlags) open() (*os.File, error) {
	if p.Out == "" {
		return nil, nil
	}
	f, err := os.Create(p.Out)
	if err != nil {
		return nil, fmt.Errorf("%w: --out: %w", errUsage, err)
	}
	return f, nil
}

// keep writes what was found; the file is whole before the command says that all is well.
func (p *partFlags) keep(f *os.File, results []load.Result) error {
	if f == nil {
		return nil
	}
	part := load.NewPart(p.Shard, results)
	err := part.Write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("write --out: %w", err)
	}
	return nil
}

// merge prints one report of what the processes of a run have written.
func (c *loadCmd) merge(e *env, files []string) error {
	if len(files) == 0 {
		return fmt.Errorf("%w: merge wants the files that --out wrote", errUsage)
	}
	if c.Out != "" || c.At != "" || c.Shard.Of > 1 {
		return fmt.Errorf("%w: merge takes files only, no --out, --at or --shard", errUsage)
	}
	parts := make([]load.Part, len(files))
	for i, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return fmt.Errorf("%w: merge: %w", errUsage, err)
		}
		parts[i], err = load.ReadPart(f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	results, err := load.Merge(parts...)
	if err != nil {
		return fmt.Errorf("merge: %w", err)
	}
	return c.print(e, results)
}
