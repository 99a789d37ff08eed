package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
)

// machinesFile stores the latest ratios of each machine, next to the rounds.
const machinesFile = "machines.json"

// MachineFigures are the medians of the ratios on one machine. Ratios depend on the machine less than rates
// do. Figures of several machines show the difference.
type MachineFigures struct {
	Machine  string             `json:"machine"`
	Revision string             `json:"revision,omitempty"`
	Began    string             `json:"began,omitempty"` // RFC 3339, UTC
	Figures  map[string]float64 `json:"figures"`         // name of a row → its median
}

func readMachines(folder string) ([]MachineFigures, error) {
	text, err := os.ReadFile(filepath.Join(folder, machinesFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var machines []MachineFigures
	if err := json.Unmarshal(text, &machines); err != nil {
		return nil, fmt.Errorf("read %s: %w", machinesFile, err)
	}
	return machines, nil
}

// storeMachine replaces the stored ratios of this machine. It ignores scaled rounds, whose ratios mean nothing.
func storeMachine(folder string, rounds []Round) error {
	if rounds[0].Scale != 1 {
		return nil
	}
	machines, err := readMachines(folder)
	if err != nil {
		return err
	}
	m := rounds[0].Machine
	this := MachineFigures{
		Machine: fmt.Sprintf("%s, %d cores", m.CPU, m.Cores), Revision: m.Revision, Began: rounds[0].Began,
		Figures: map[string]float64{},
	}
	for _, w := range rows {
		if v := medianOfSorted(values(rounds, w.compared)); w.baseline != "" && !math.IsNaN(v) {
			this.Figures[w.name] = math.Round(v*100) / 100
		}
	}
	if i := slices.IndexFunc(machines, func(f MachineFigures) bool { return f.Machine == this.Machine }); i >= 0 {
		machines[i] = this
	} else {
		machines = append(machines, this)
	}
	text, err := json.MarshalIndent(machines, "", " ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(folder, machinesFile), append(text, '\n'), 0o644)
}

// overMachines returns the lowest and the highest median of a ratio; "" for a figure without a baseline, or if fewer
// than two machines have it.
func (r *row) overMachines(machines []MachineFigures) string {
	if r.baseline == "" {
		return ""
	}
	var all []float64
	for _, m := range machines {
		if v, ok := m.Figures[r.name]; ok {
			all = append(all, v)
		}
	}
	if len(all) < 2 {
		return ""
	}
	return digits(slices.Min(all), r.digits) + "–" + digits(slices.Max(all), r.digits)
}
