// Words reports words and patterns that deploy/WRITING.md forbids, in comments, messages and declared names of all
// tracked files, or of the files and folders given. A line with words:ok is exempt.
// Exit status: 1 for a finding, 2 if the check could not run.
package main

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

func main() {
	found, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(2)
	}
	if found > 0 {
		os.Exit(1)
	}
}

// run checks the tracked files under the paths; without one, all tracked files.
func run(paths []string) (found int, err error) {
	out, err := exec.Command("git", append([]string{"ls-files", "-z", "--"}, paths...)...).Output()
	if err != nil {
		return 0, fmt.Errorf("git ls-files: %w", err)
	}
	for _, path := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
		if exempt(path) {
			continue
		}
		src, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return found, err
		}
		problems, err := check(path, src)
		if err != nil {
			return found, err
		}
		for _, p := range problems {
			fmt.Println(p)
		}
		found += len(problems)
	}
	return found, nil
}

// exempt reports whether a file is data, or quotes the forbidden words.
func exempt(path string) bool {
	return strings.Contains(path, "/testdata/") || strings.HasPrefix(path, "deploy/tools/words/") ||
		path == "deploy/WRITING.md"
}

// check returns a line for each line of the file with a forbidden pattern.
func check(path string, src []byte) (problems []string, err error) {
	texts, err := textsOf(path, src)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	lines := strings.Split(string(src), "\n")
	for _, t := range texts {
		if t.line <= len(lines) && strings.Contains(lines[t.line-1], "words:ok") {
			continue
		}
		if found, instead := forbidden(t); found != "" {
			problems = append(problems, fmt.Sprintf("%s:%d: %q; write %s", path, t.line, found, instead))
		}
	}
	return problems, nil
}

func forbidden(t text) (found, instead string) {
	if t.name {
		for _, word := range wordsOf(t.text) {
			if instead := names[word]; instead != "" {
				return t.text, instead
			}
		}
		return "", ""
	}
	bare := exemptText.ReplaceAllString(t.text, "``")
	for _, r := range rules {
		if found := r.pattern.FindString(bare); found != "" {
			return strings.TrimSpace(found), r.instead
		}
	}
	return "", ""
}
