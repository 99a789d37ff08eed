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

// Round is everything that one round found, as it is kept.
type Round struct {
	Number  int     `json:"number"`
	Began   string  `json:"began"` // RFC 3339, UTC
	Seconds float64 `json:"seconds"`
	Scale   float64 `json:"scale"` // 1: crowds and times as the bars mean them
	Machine Machine `json:"machine"`

	Micro map[string]map[string]float64 `json:"micro"` // Go benchmark → metric → value
	Steps map[string][]load.Result      `json:"steps"` // step → what the load generator found, scenario by scenario

	// waiting reservations that became orders while nobody bought
	DrainedPerSec float64 `json:"drained_per_second"`
	// processor time of Redis over the chain, everything included
	RedisMicrosPerOrder float64 `json:"redis_cpu_us_per_order"`
	// growth of its append-only file, and of its data, by each order that became a row as it came
	RedisLogPerOrder   float64 `json:"redis_log_kb_per_order"`
	RedisBytesPerOrder float64 `json:"redis_bytes_per_open_order"`
	// growth of its data from the empty shop to the end of the chain, over all orders that are open by then: most of
	// them waited for a worker while their buyers went on buying
	RedisBytesAfterJam float64 `json:"redis_bytes_per_open_order_after_a_jam"`
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

// readRounds reads what is kept, in the order of the rounds.
func readRounds(folder string) ([]Round, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "round-*.json"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, errors.New("no rounds are kept in " + folder)
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
