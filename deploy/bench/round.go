package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"stampede/app/load"
)

// Round contains all results of one round, as stored in round-N.json.
type Round struct {
	Number  int     `json:"number"`
	Began   string  `json:"began"` // RFC 3339, UTC
	Seconds float64 `json:"seconds"`
	Scale   float64 `json:"scale"` // 1: the crowds and times to which the bars apply
	Machine Machine `json:"machine"`

	Micro map[string]map[string]float64 `json:"micro"` // Go benchmark → metric → value
	Steps map[string][]load.Result      `json:"steps"` // step → results of the load generator, one per scenario

	// rate at which waiting reservations became orders, without new buys
	DrainedPerSec float64 `json:"drained_per_second"`
	// total processor time of Redis over the chain, per order
	RedisMicrosPerOrder float64 `json:"redis_cpu_us_per_order"`
	// growth of the append-only file (KB) and of the data (bytes) of Redis per order, if reservations become rows at
	// once
	RedisLogPerOrder   float64 `json:"redis_log_kb_per_order"`
	RedisBytesPerOrder float64 `json:"redis_bytes_per_open_order"`
	// growth of the data of Redis from the empty shop to the end of the chain, per order of the round; most of these
	// orders waited for a worker while buyers continued to buy
	RedisBytesAfterBacklog float64 `json:"redis_bytes_per_open_order_after_a_jam"`
}

func writeRounds(folder string, rounds []Round) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, r := range rounds {
		text, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return err
		}
		path := filepath.Join(folder, fmt.Sprintf("round-%d.json", r.Number))
		if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// readRounds reads the stored rounds, in the order of their numbers.
func readRounds(folder string) ([]Round, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "round-*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New("no stored rounds in " + folder)
	}
	rounds := make([]Round, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&rounds[i]); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	slices.SortFunc(rounds, func(a, b Round) int { return a.Number - b.Number })
	return rounds, nil
}
