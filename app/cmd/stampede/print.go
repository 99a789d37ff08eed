package main

import (
	"context"
	"encoding/json"
	"fmt"
	"text/tabwriter"
	"time"

	"stampede/app"
)

// json prints a value for scripts.
func (e *env) json(v any) error {
	encoder := json.NewEncoder(e.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// wall prints an instant by the clocks of the shop, as every time in a table is; nothing for none.
func (e *env) wall(at app.Millis) string {
	if at == 0 {
		return ""
	}
	return at.Time().In(e.zone).Format(time.DateTime)
}

// list prints items for scripts, or for people: as a table, or, when there are none, as a sentence.
func list[T any](e *env, asJSON bool, items []T, none, head, format string, columns func(item T) []any) error {
	switch {
	case asJSON:
		return e.json(append([]T{}, items...)) // an empty list is none that scripts would stumble over
	case len(items) == 0:
		fmt.Fprintln(e.out, none)
		return nil
	}
	return table(e, 0, head, format, items, columns)
}

// table prints a head, if there is one, and a line for each item, with their columns under one another.
func table[T any](e *env, flags uint, head, format string, items []T, columns func(item T) []any) error {
	w := tabwriter.NewWriter(e.out, 0, 4, 2, ' ', flags)
	if head != "" {
		fmt.Fprintln(w, head)
	}
	for _, item := range items {
		fmt.Fprintf(w, format+"\n", columns(item)...)
	}
	return w.Flush()
}

// resend has entries sent once more, all of them when none is named, and prints each as soon as it is, or for scripts
// all of them when it is done.
func resend(
	e *env, asJSON bool, ids []string, says string, send func(context.Context, []string, func(id string)) error,
) error {
	sent := []string{}
	err := send(e.ctx, ids, func(id string) {
		sent = append(sent, id)
		if !asJSON {
			fmt.Fprintln(e.out, says, id)
		}
	})
	if asJSON && err == nil {
		err = e.json(sent)
	}
	return err
}

// drop forgets an entry and prints which.
func drop(e *env, asJSON bool, id string, forget func(context.Context, string) error) error {
	err := forget(e.ctx, id)
	switch {
	case err != nil:
		return err
	case asJSON:
		return e.json([]string{id})
	}
	fmt.Fprintln(e.out, "dropped", id)
	return nil
}
