package main

import (
	"bytes"
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
	dryRunFlags struct {
		DryRun bool `help:"Show the result and change nothing."`
	}
	// changeFlags contains the flags of commands that change the catalogue.
	changeFlags struct {
		operationFlags
		dryRunFlags
	}
	// importFlags contains the flags of commands that import a table.
	importFlags struct {
		keyFlags
		dryRunFlags
	}
)

// withDryRun returns the URL path of an operation that supports dry runs.
func (d dryRunFlags) withDryRun(path string) string {
	if d.DryRun {
		return path + "?dry_run=true"
	}
	return path
}

// resultOrDryRun is like result, for operations that support dry runs.
func (e *env) resultOrDryRun(c changeFlags, err error, value any, format string, args ...any) error {
	if c.DryRun {
		format = "would have " + format
	}
	return e.result(c.JSON, err, value, format, args...)
}

// instant parses a time in the time zone of the shop.
func (e *env) instant(text string) (shop.Millis, error) {
	service := backoffice.CatalogueService{Zone: e.timeZone()}
	if e.zoneErr != nil {
		return 0, e.zoneErr
	}
	at, err := service.Schedule().Instant(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %q %s", errUsage, text, shop.AsError(err).Message)
	}
	return at, nil
}

// yuan parses a price in yuan and returns it in fen.
func yuan(text string) (int64, error) {
	fen, err := shop.ParseFen(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %w", errUsage, err)
	}
	return fen, nil
}

// optionalYuan is like yuan, for an optional price; nil: not given.
func optionalYuan(text string) (*int64, error) {
	if text == "" {
		return nil, nil
	}
	fen, err := yuan(text)
	return &fen, err
}

// flagValue returns a pointer to the value of a flag; nil: not given.
func flagValue[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// file reads a text file, or standard input for "-".
func (e *env) file(name string) ([]byte, error) {
	if name == "-" {
		content, err := io.ReadAll(e.in)
		return bytes.TrimPrefix(content, []byte(shop.ByteOrderMark)), err
	}
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUsage, err)
	}
	return bytes.TrimPrefix(content, []byte(shop.ByteOrderMark)), nil
}

// export writes a table of the server to a file, or to standard output for "-".
func (e *env) export(r serverFlags, name, path string, query url.Values) error {
	return e.read(readFlags{serverFlags: r}, func(c *client) error {
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

// importTable sends a table and prints the result. Problems in the table are an error even for a dry run.
func (e *env) importTable(o importFlags, name, kind string) error {
	file, err := e.file(name)
	if err != nil {
		return err
	}
	return e.operate(operationFlags{keyFlags: o.keyFlags}, func(c *client) error {
		var r backoffice.ImportReport
		err := c.change(http.MethodPost, o.withDryRun("/import/"+kind), file, &r)
		if !o.JSON {
			for _, p := range r.Problems {
				fmt.Fprintf(e.out, "line %d %s: %s\n", p.Line, p.Column, p.Message)
			}
		}
		err = e.resultOrDryRun(changeFlags{operationFlags{keyFlags: o.keyFlags}, o.dryRunFlags}, err, r,
			"imported %d lines of %s: %d created, %d changed, %d unchanged", r.Lines, kind, r.Created, r.Changed, r.Same)
		if err == nil && len(r.Problems) > 0 {
			err = errors.New("the table has problems, so no line would be imported")
		}
		return err
	})
}
