package main

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"
)

// json prints a value for scripts.
func (e *env) json(v any) error {
	encoder := json.NewEncoder(e.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
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
