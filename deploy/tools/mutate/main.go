// Command mutate puts the defect of a negative control into the working tree.
//
//	mutate [-n] deploy/controls/NAME.edit      -n: only looks whether it could
//
// An edit names lines by what they say and not by where they stand, so that it survives changes around them:
//
//	Defect: units are returned twice           a header of `Name: value` lines, see controls.sh
//	File: streams/lua/return.lua
//
//	- if hold ~= ARGV[3] then                  one or more lines of the file, each behind "- "; they must stand there once
//	+ if false then                            what stands there instead, each behind "+ "; may be nothing
//
// Leading blanks do not count. Further parts follow behind an empty line; a `File:` line of their own names another
// file.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	args := os.Args[1:]
	look := len(args) > 0 && args[0] == "-n"
	if look {
		args = args[1:]
	}
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [-n] FILE.edit")
		os.Exit(2)
	}
	if err := run(args[0], look); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run changes the files, unless it is only to look, and only if every part fits.
func run(name string, look bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	parts, err := parse(string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	changed := make(map[string]string)
	for _, p := range parts {
		before, ok := changed[p.file]
		if !ok {
			content, err := os.ReadFile(p.file)
			if err != nil {
				return err
			}
			before = string(content)
		}
		if changed[p.file], err = p.apply(before); err != nil {
			return fmt.Errorf("%s: %s: %w", name, p.file, err)
		}
	}
	if look {
		return nil
	}
	for file, content := range changed {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// part replaces lines of a file.
type part struct {
	file     string
	old, new []string
}

func parse(text string) ([]part, error) {
	var parts []part
	var file string
	var p part
	end := func() {
		if len(p.old)+len(p.new) > 0 {
			p.file = file
			parts = append(parts, p)
		}
		p = part{}
	}
	for line := range strings.SplitSeq(text, "\n") {
		name, isFile := strings.CutPrefix(line, "File: ")
		switch {
		case isFile:
			end()
			file = name
		case strings.HasPrefix(line, "-"):
			p.old = append(p.old, strings.TrimSpace(line[1:]))
		case strings.HasPrefix(line, "+"):
			p.new = append(p.new, strings.TrimSpace(line[1:]))
		case line == "":
			end()
		}
	}
	end()
	for _, p := range parts {
		if p.file == "" {
			return nil, errors.New("no line `File: …` before the first part")
		}
		if len(p.old) == 0 {
			return nil, errors.New("a part without lines of the file")
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("nothing is changed")
	}
	return parts, nil
}

// apply answers the text with the lines replaced, if they stand there exactly once.
func (p part) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	found := -1
	for at := 0; at+len(p.old) <= len(lines); at++ {
		if !p.standsAt(lines[at:]) {
			continue
		}
		if found >= 0 {
			return "", fmt.Errorf("lines %d and %d both begin with %q: name more lines", found+1, at+1, p.old[0])
		}
		found = at
	}
	if found < 0 {
		return "", fmt.Errorf("nowhere is %q", strings.Join(p.old, " ⏎ "))
	}
	out := append(append(append([]string(nil), lines[:found]...), p.new...), lines[found+len(p.old):]...)
	return strings.Join(out, "\n"), nil
}

func (p part) standsAt(lines []string) bool {
	for i, old := range p.old {
		if strings.TrimSpace(lines[i]) != old {
			return false
		}
	}
	return true
}
