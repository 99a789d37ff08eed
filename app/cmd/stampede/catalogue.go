package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"stampede/app/backoffice"
	"stampede/app/shop"
)

type (
	trying struct {
		DryRun bool `help:"Try it only: show what it would come to, and keep nothing of it."`
	}
	// changing is part of each command that changes the catalogue.
	changing struct {
		operating
		trying
	}
	// importing is part of each command that sends a table.
	importing struct {
		keyed
		trying
	}
)

// at is the address of an operation, which may be tried only.
func (t trying) at(path string) string {
	if t.DryRun {
		return path + "?dry_run=true"
	}
	return path
}

// did is result for an operation that may be tried only.
func (e *env) did(c changing, err error, answer any, format string, args ...any) error {
	if c.DryRun {
		format = "would have " + format
	}
	return e.result(c.JSON, err, answer, format, args...)
}

// instant reads a time by the clocks of the shop.
func (e *env) instant(text string) (shop.Millis, error) {
	desk := backoffice.CatalogueDesk{Zone: e.clocks()}
	if e.noZone != nil {
		return 0, e.noZone
	}
	at, err := desk.Instant(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %q %s", errUsage, text, shop.AsError(err).Message)
	}
	return at, nil
}

// yuan reads a price.
func yuan(text string) (int64, error) {
	fen, err := shop.ParseFen(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUsage, err)
	}
	return fen, nil
}

// optionalYuan reads a price that may be left out.
func optionalYuan(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	fen, err := yuan(text)
	return &fen, err
}

// given is what a flag says, unless it is left out.
func given[T comparable](value T) *T {
	var none T
	if value == none {
		return nil
	}
	return &value
}

// file reads a file, or the standard input for "-".
func (e *env) file(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(e.in)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return content, nil
}

// export writes a table of the server to a file.
func (e *env) export(r remote, name, path string, query url.Values) error {
	return e.look(reading{remote: r}, func(c *client) error {
		var content []byte
		err := c.get(path, query, &content)
		if err != nil {
			return err
		}
		if name == "-" {
			_, err = e.out.Write(content)
			return err
		}
		return os.WriteFile(name, content, 0o600)
	})
}

// importTable sends a table and prints what became of it. Problems make a dry run fail, too.
func (e *env) importTable(o importing, name, what string) error {
	file, err := e.file(name)
	if err != nil {
		return err
	}
	return e.operate(operating{keyed: o.keyed}, func(c *client) error {
		var r backoffice.ImportReport
		err := c.act(http.MethodPost, o.at("/import/"+what), file, &r)
		if !o.JSON {
			for _, p := range r.Problems {
				fmt.Fprintf(e.out, "line %d %s: %s\n", p.Line, p.Column, p.Says)
			}
		}
		err = e.did(changing{operating{keyed: o.keyed}, o.trying}, err, r,
			"imported %d lines of %s: %d made, %d changed, %d the same", r.Lines, what, r.Created, r.Changed, r.Same)
		if err == nil && len(r.Problems) > 0 {
			err = errors.New("the table has problems, so nothing of it would be imported")
		}
		return err
	})
}
