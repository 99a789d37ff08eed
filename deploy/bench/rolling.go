package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

const rollingFile = "rolling.json"

// rolling contains the figures of a rolling restart, as app/test/crash writes them.
type rolling struct {
	Load        string     `json:"load"` // load averages of the machine
	Nodes       int        `json:"nodes"`
	People      int        `json:"people"`
	EndMS       int64      `json:"end_ms"`
	Calm        buyFigures `json:"calm"`
	Restart     buyFigures `json:"restart"`
	Interrupted int        `json:"interrupted"`
	AwayMS      [3]int64   `json:"away_ms"` // p50, p99, maximum
}

type buyFigures struct {
	Buys   int      `json:"buys"`
	Millis [3]int64 `json:"ms"` // p50, p99, maximum
}

// appendRolling appends the part about the rolling restart to RESULTS.md. rolling.sh --write measures its figures; in a
// folder without them the part is omitted.
func appendRolling(folder string, pages map[string][]byte) error {
	text, err := os.ReadFile(filepath.Join(folder, rollingFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var r rolling
	if err := json.Unmarshal(text, &r); err != nil {
		return fmt.Errorf("read %s: %w", rollingFile, err)
	}
	var part bytes.Buffer
	if err := templates.ExecuteTemplate(&part, "rolling.md", &r); err != nil {
		return err
	}
	pages["RESULTS.md"] = append(pages["RESULTS.md"], part.Bytes()...)
	return nil
}
