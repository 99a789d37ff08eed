package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"stampede/app"
	"stampede/app/server"
)

// changing is part of each command that changes what is offered.
type changing struct {
	acting

	DryRun bool `help:"Try it only: show what it would come to, and keep nothing of it."`
	JSON   bool `name:"json" help:"For scripts."`
}

// listing is part of each command that shows something.
type listing struct {
	JSON bool `name:"json" help:"For scripts."`
}

// withDesk opens the desk at which the catalogue is changed.
func (e *env) withDesk(c changing, do func(d *app.CatalogueDesk, actor app.Actor) error) error {
	return e.withActs(c.acting, func(t *server.Tools) error { return t.Catalogue(e.ctx, do) })
}

// readDesk opens it for who only looks.
func (e *env) readDesk(do func(d *app.CatalogueDesk) error) error {
	return e.withTools(func(t *server.Tools) error {
		return t.Catalogue(e.ctx, func(d *app.CatalogueDesk, _ app.Actor) error { return do(d) })
	})
}

// did prints what an act came to: all of it for scripts, a sentence for people.
func (e *env) did(c changing, answer any, format string, args ...any) error {
	if c.JSON {
		return e.json(answer)
	}
	if c.DryRun {
		format = "would have " + format
	}
	_, err := fmt.Fprintf(e.out, format+"\n", args...)
	return err
}

// parseWallText reads an instant by the clocks of the shop.
func parseWallText(d *app.CatalogueDesk, text string) (app.Millis, error) {
	at, err := d.Instant(text)
	if err != nil {
		return 0, fmt.Errorf("%w: %q %s", errUsage, text, app.AsError(err).Message)
	}
	return at, nil
}

// yuan reads a price.
func yuan(text string) (int64, error) {
	fen, err := app.ParseFen(text)
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

// table writes an export where it is wanted.
func (e *env) export(name string, write func(d *app.CatalogueDesk) ([]byte, error)) error {
	return e.readDesk(func(d *app.CatalogueDesk) error {
		content, err := write(d)
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

// imported prints what an import came to. Problems make a dry run fail, too.
func (e *env) imported(c changing, what string, r *app.ImportReport) error {
	if c.JSON {
		if err := e.json(r); err != nil {
			return err
		}
	} else {
		for _, p := range r.Problems {
			fmt.Fprintf(e.out, "line %d %s: %s\n", p.Line, p.Column, p.Says)
		}
		err := e.did(c, r, "imported %d lines of %s: %d made, %d changed, %d the same", r.Lines, what, r.Created,
			r.Changed, r.Same)
		if err != nil {
			return err
		}
	}
	if len(r.Problems) > 0 {
		return errors.New("the table has problems, so nothing of it would be imported")
	}
	return nil
}
