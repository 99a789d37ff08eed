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

// isIgnored reports whether the variable belongs to the operators' commands, the tests, the scripts or a Kubernetes
// Service, and not to the server.
func isIgnored(name string, vars map[string]string) bool {
	return slices.Contains([]string{"URL", "TOKEN", "BIN"}, name) || strings.HasPrefix(name, "TEST_") ||
		isServiceLink(name, vars)
}

// Problem describes one invalid variable and its correction.
type Problem struct {
	Variable string `json:"variable"` // full name
	Message  string `json:"message"`  // continues the sentence after the name
}

// ConfigError lists all problems of the configuration, so that they can be fixed together.
type ConfigError struct{ Problems []Problem }

func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString("invalid configuration:")
	for _, p := range e.Problems {
		b.WriteString("\n  " + p.Variable + " " + p.Message)
	}
	return b.String()
}

// problems collects at most one problem per variable.
type problems struct{ found []Problem }

func (p *problems) add(name, message string) {
	full := prefix + name
	if !slices.ContainsFunc(p.found, func(q Problem) bool { return q.Variable == full }) {
		p.found = append(p.found, Problem{full, message})
	}
}

// check adds the message unless it is empty.
func (p *problems) check(name, message string) {
	if message != "" {
		p.add(name, message)
	}
}

func (p *problems) checkRange(name string, n, low, high int64) {
	if n < low || n > high {
		p.add(name, fmt.Sprintf("is %d: want %d to %d", n, low, high))
	}
}

func (p *problems) checkDuration(name string, d, low, high time.Duration) {
	if d < low || d > high {
		p.add(name, fmt.Sprintf("is %v: want %v to %v", d, low, high))
	}
}

// Load reads the configuration from NAME=value strings, as os.Environ returns them. The error is a *ConfigError that
// lists every invalid variable.
func Load(environ []string) (Config, error) {
	var p problems
	vars, known := stampedeVariables(environ), variablesByName()
	exposed := readSecretFiles(vars, known, &p)
	for name, value := range vars {
		if known[name].pem {
			vars[name] = normalPEM(value)
		}
		p.check(name, extraCharacters(vars[name]))
	}
	setCrashPoint(vars, &p)
	setBenchMode(vars)
	for name := range vars {
		if _, ok := known[name]; !ok && !isIgnored(name, vars) {
			p.add(name, unknownMessage(name, known))
		}
	}
	applyPreset(vars)
	var c Config
	err := env.ParseWithOptions(&c, env.Options{Environment: vars})
	unreadable := parseProblems(err, vars, known, &p)
	// A variable that cannot be parsed already has a problem. The other variables are still checked.
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

// extraCharacters returns a message about characters around a value that do not belong to it: the blanks and line
// breaks at its ends, and the quotes that `docker run --env-file` and Kubernetes keep. "": the value is clean.
func extraCharacters(value string) string {
	quoted := func(quote string) bool {
		return len(value) > 1 && strings.HasPrefix(value, quote) && strings.HasSuffix(value, quote)
	}
	switch {
	case strings.HasSuffix(value, "\r"):
		return "ends with a carriage return: save its file with Unix line breaks (LF)"
	case strings.TrimSpace(value) != value:
		return "begins or ends with a blank or a line break: remove it"
	case quoted(`"`), quoted("'"):
		return "is in quotes, which would become a part of the value: remove them"
	}
	return ""
}

// isServiceLink reports whether the variable describes a Kubernetes Service whose name begins with "stampede": pods get
// such variables unless enableServiceLinks is false (kubernetes.io, "Accessing the Service", "Environment variables").
func isServiceLink(name string, vars map[string]string) bool {
	for host := range vars {
		service, ok := strings.CutSuffix(host, "SERVICE_HOST")
		if ok && (strings.HasPrefix(name, service+"SERVICE_") || name == service+"PORT" || strings.HasPrefix(name, service+"PORT_")) {
			return true
		}
	}
	return false
}

// stampedeVariables returns the values of the variables with the program's prefix, by their names without the prefix.
// Empty values count as not set.
func stampedeVariables(environ []string) map[string]string {
	vars := make(map[string]string)
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if short, ok := strings.CutPrefix(name, prefix); ok && value != "" {
			vars[short] = value
		}
	}
	return vars
}

// variablesByName returns all variables by their names without the prefix.
func variablesByName() map[string]Variable {
	known := make(map[string]Variable)
	for _, v := range Variables() {
		known[strings.TrimPrefix(v.Name, prefix)] = v
	}
	return known
}

// parseProblems turns the errors of the parser into one problem per variable. It returns the full names of these
// variables.
func parseProblems(err error, vars map[string]string, known map[string]Variable, p *problems) map[string]bool {
	unreadable := make(map[string]bool)
	all, ok := errors.AsType[env.AggregateError](err)
	if !ok {
		return unreadable
	}
	for _, failure := range all.Errors {
		parse, ok := errors.AsType[env.ParseError](failure)
		if !ok {
			p.add("…", failure.Error())
			continue
		}
		for name, v := range known {
			if v.field == parse.Name {
				unreadable[prefix+name] = true
				p.add(name, parseErrorText(parse, vars[name]))
			}
		}
	}
	return unreadable
}

// parseErrorText describes the expected value. The types in config_types.go and slot_times.go supply their own
// messages. Secrets are strings, which always parse, so the message never contains a secret.
func parseErrorText(e env.ParseError, value string) string {
	switch {
	case e.Type == reflect.TypeFor[time.Duration]():
		return "is " + quote(value) + ": want a number with a unit, for example 90s, 5m or 1h"
	case e.Type.Kind() == reflect.Int || e.Type.Kind() == reflect.Int64:
		return "is " + quote(value) + ": want a whole number"
	case e.Type.Kind() == reflect.Float64:
		return "is " + quote(value) + ": want a number, for example 0.01"
	case e.Type.Kind() == reflect.Bool:
		return "is " + quote(value) + ": want true or false"
	}
	return e.Err.Error()
}

// unknownMessage returns the message about an unknown variable, with the most similar name.
func unknownMessage(name string, known map[string]Variable) string {
	if name == "ARCHIVE_AFTER" {
		return "was removed with the archive of orders: delete it; `stampede order prune --help` deletes old orders"
	}
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

// editDistance returns the number of single-character changes, insertions and deletions between two names.
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
