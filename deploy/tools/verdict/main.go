// Verdict reads the events of `go test -json` on standard input and says what people want to know:
// a line per package as it finishes, everything that a failed test printed, and as its last line
// `N passed, N failed`.
//
// It is strict. A skipped test counts as failed and is named: a missing service must not pass for
// success. So does a package that fails without a failed test (it does not build, its TestMain
// found a leak), a test that never ended, and a run without any test. Subtests count like tests.
//
// Exit status: 0 when something passed and nothing failed, else 1.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
)

func main() {
	v := newVerdict(os.Stdout)
	if err := readEvents(os.Stdin, v); err != nil {
		v.fail("reading the test events: %v", err)
	}
	if !v.conclude() {
		os.Exit(1)
	}
}

// readEvents hands over every event; lines that are none (the go command's own words) are passed on
// as output.
func readEvents(r io.Reader, v *verdict) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) == nil && e.Action != "" {
				v.take(e)
			} else {
				fmt.Fprintf(v.out, "%s", line)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
