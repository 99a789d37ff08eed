// Command mutate applies a mutation, a known defect, to the working tree.
//
//	mutate [-n] deploy/mutations/NAME.edit     -n: check only, change no file
//
// An edit identifies lines by their text, not by line numbers, so that it still applies after unrelated changes:
//
//	Defect: Units are returned twice           headers `Name: value`; `just mutations` reads them
//	Breaks: P1 I3
//	Test: ./streams TestUnitsReturnOnce
//	File: streams/lua/return.lua
//
//	- if hold ~= ARGV[3] then                  one or more consecutive lines, which occur exactly once in the file
//	+ if false then                            their replacement; may be empty
//
// Indentation is ignored. An empty line begins another part; another `File:` line selects another file.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

func main() {
	args := os.Args[1:]
	check := len(args) > 0 && args[0] == "-n"
	if check {
		args = args[1:]
	}
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "usage: mutate [-n] FILE.edit")
		os.Exit(2)
	}
	if err := run(args[0], check); err != nil {
		fmt.Fprintln(os.Stderr, "mutate:", err)
		os.Exit(1)
	}
}

// run applies the edit if every part matches. With check it changes no file.
func run(name string, check bool) error {
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
	if check {
		return nil
	}
	for file, content := range changed {
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// part replaces consecutive lines of a file.
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
			return nil, errors.New("no `File:` line before the first part")
		}
		if len(p.old) == 0 {
			return nil, errors.New("a part without old lines")
		}
	}
	if len(parts) == 0 {
		return nil, errors.New("the edit has no parts")
	}
	return parts, nil
}

// apply returns the text with the lines replaced. The lines must occur exactly once.
func (p part) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	found := -1
	for at := 0; at+len(p.old) <= len(lines); at++ {
		if !p.matches(lines[at:]) {
			continue
		}
		if found >= 0 {
			return "", fmt.Errorf("lines %d and %d both match %q: add lines to the part", found+1, at+1, p.old[0])
		}
		found = at
	}
	if found < 0 {
		return "", fmt.Errorf("no match for %q", strings.Join(p.old, " ⏎ "))
	}
	out := append(append(append([]string(nil), lines[:found]...), p.new...), lines[found+len(p.old):]...)
	return strings.Join(out, "\n"), nil
}

func (p part) matches(lines []string) bool {
	for i, old := range p.old {
		if strings.TrimSpace(lines[i]) != old {
			return false
		}
	}
	return true
}
