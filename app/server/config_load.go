package server

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"stampede/app/account"
)

const minSecret = account.MinKeyBytes

// foreign are variables of the operators' commands and of the project's tests and scripts. A server does not read them.
var foreign = []string{
	"URL", "TOKEN", "TEST_REDIS", "TEST_MYSQL", "TEST_REDIS_SERVER", "TEST_MYSQL_SERVER", "TEST_STORES", "BIN",
}

// Problem is one wrong variable and what to do about it.
type Problem struct {
	Variable string `json:"variable"` // full name
	Message  string `json:"message"`  // goes on after the name
}

// ConfigError lists everything that is wrong with the configuration, so that it can be put right in one go.
type ConfigError struct{ Problems []Problem }

func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString("the configuration is wrong:")
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.Variable + " " + p.Message)
	}
	return b.String()
}

// problems collects what is wrong, at most one per variable.
type problems struct{ found []Problem }

func (p *problems) add(name, message string) {
	full := prefix + name
	if !slices.ContainsFunc(p.found, func(q Problem) bool { return q.Variable == full }) {
		p.found = append(p.found, Problem{full, message})
	}
}

// check adds a message that is not empty.
func (p *problems) check(name, message string) {
	if message != "" {
		p.add(name, message)
	}
}

func (p *problems) within(name string, n, low, high int64) {
	if n < low || n > high {
		p.add(name, fmt.Sprintf("is %d: want %d to %d", n, low, high))
	}
}

func (p *problems) lasts(name string, d, low, high time.Duration) {
	if d < low || d > high {
		p.add(name, fmt.Sprintf("is %v: want %v to %v", d, low, high))
	}
}

// Load reads the configuration from variables in the form NAME=value, as os.Environ gives them. The error is
// a *ConfigError that names every wrong variable at once.
func Load(environ []string) (Config, error) {
	var p problems
	vars, known := ours(environ), names()
	exposed := readSecretFiles(vars, known, &p)
	armCrash(vars, &p)
	armBench(vars)
	for name := range vars {
		if _, ok := known[name]; !ok && !slices.Contains(foreign, name) {
			p.add(name, unknown(name, known))
		}
	}
	presets(vars)
	var c Config
	err := env.ParseWithOptions(&c, env.Options{Environment: vars})
	unreadable := parseProblems(err, vars, known, &p)
	// A variable that could not be read has its first complaint already; the others are still checked.
	for _, found := range c.check() {
		if !unreadable[found.Variable] {
			p.add(strings.TrimPrefix(found.Variable, prefix), found.Message)
		}
	}
	if len(p.found) > 0 {
		slices.SortFunc(p.found, func(a, b Problem) int { return strings.Compare(a.Variable, b.Variable) })
		return Config{}, &ConfigError{p.found}
	}
	c.Exposed = exposed
	return c, nil
}

// ours keeps the variables with the program's prefix, without it. An empty value counts as not set.
func ours(environ []string) map[string]string {
	vars := make(map[string]string)
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if short, ok := strings.CutPrefix(name, prefix); ok && value != "" {
			vars[short] = value
		}
	}
	return vars
}

// names are all variables by their names without the prefix.
func names() map[string]Variable {
	known := make(map[string]Variable)
	for _, v := range Variables() {
		known[strings.TrimPrefix(v.Name, prefix)] = v
	}
	return known
}

// parseProblems words the errors of the parser by variable and answers which variables they are about.
func parseProblems(err error, vars map[string]string, known map[string]Variable, p *problems) map[string]bool {
	unreadable := make(map[string]bool)
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return unreadable
	}
	for _, one := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](one)
		if !ok {
			p.add("…", one.Error())
			continue
		}
		for name, v := range known {
			if v.field == parse.Name {
				unreadable[prefix+name] = true
				p.add(name, wordParseError(parse, vars[name]))
			}
		}
	}
	return unreadable
}

// wordParseError says what kind of value is wanted. Our own types say it themselves; secrets are texts, which
// always parse, so no value that is shown here is one.
func wordParseError(e env.ParseError, value string) string {
	switch {
	case e.Type == reflect.TypeFor[time.Duration]():
		return "is " + quote(value) + ": want a number with a unit, like 90s, 5m or 1h"
	case e.Type.Kind() == reflect.Int || e.Type.Kind() == reflect.Int64:
		return "is " + quote(value) + ": want a whole number"
	case e.Type.Kind() == reflect.Float64:
		return "is " + quote(value) + ": want a number, like 0.01"
	case e.Type.Kind() == reflect.Bool:
		return "is " + quote(value) + ": want true or false"
	}
	return e.Err.Error()
}

// unknown guesses which variable was meant.
func unknown(name string, known map[string]Variable) string {
	best, distance := "", 4
	for candidate := range known {
		if d := editDistance(name, candidate); d < distance {
			best, distance = candidate, d
		}
	}
	if best == "" {
		return "is not a variable of this program; `stampede serve --help` lists them"
	}
	return "is not a variable of this program; did you mean " + prefix + best + "?"
}

// editDistance counts the single letters to change, add or leave out between two names.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
