package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"stampede/app/shop"
)

// json prints a value as JSON.
func (e *env) json(v any) error {
	encoder := json.NewEncoder(e.out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}

// localTime formats an instant in the time zone of the shop; "" for 0.
func (e *env) localTime(at shop.Millis) string {
	if at == 0 {
		return ""
	}
	return at.Time().In(e.timeZone()).Format(time.DateTime)
}

// timeZone returns the time zone of the shop, from the configuration or from the server. Without either it is UTC.
func (e *env) timeZone() *time.Location {
	if e.zone == nil && e.shop != nil && e.zoneErr == nil {
		e.zone, e.zoneErr = e.shop.zone()
	}
	if e.zone == nil {
		return time.UTC
	}
	return e.zone
}

// show prints a value as JSON or as text. It returns err if that is not nil.
func (e *env) show(asJSON bool, err error, value any, text func() error) error {
	switch {
	case err != nil:
		return err
	case asJSON:
		return e.json(value)
	}
	return text()
}

// result is like show, with one line of text.
func (e *env) result(asJSON bool, err error, value any, format string, args ...any) error {
	return e.show(asJSON, err, value, func() error {
		_, err := fmt.Fprintf(e.out, format+"\n", args...)
		return err
	})
}

// listing is the text form of a list.
type listing[T any] struct {
	none    string // printed if there are no items
	head    string // column names, separated by tabs
	columns func(item T) []any
}

// list is like show for a list, with a table as text.
func list[T any](e *env, asJSON bool, err error, items []T, l listing[T]) error {
	items = append([]T{}, items...) // an empty list must become [] in JSON, not null
	return e.show(asJSON, err, items, func() error {
		if len(items) == 0 {
			fmt.Fprintln(e.out, l.none)
			return nil
		}
		return table(e, l.head, items, l.columns)
	})
}

// table prints an optional head and one line per item, with columns that are aligned by their width in a terminal, in
// which a Chinese character takes two columns.
func table[T any](e *env, head string, items []T, columns func(item T) []any) error {
	return writeTable(e, runewidth.FillRight, head, items, columns)
}

// figures is table with columns that are aligned on the right.
func figures[T any](e *env, head string, items []T, columns func(item T) []any) error {
	return writeTable(e, runewidth.FillLeft, head, items, columns)
}

func writeTable[T any](
	e *env, fill func(s string, width int) string, head string, items []T, columns func(item T) []any,
) error {
	var rows [][]string
	if head != "" {
		rows = append(rows, strings.Split(head, "\t"))
	}
	for _, item := range items {
		rows = append(rows, shop.Mapped(columns(item), func(cell any) string { return fmt.Sprint(cell) }))
	}
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], runewidth.StringWidth(cell))
		}
	}
	for _, row := range rows {
		for i, cell := range row {
			row[i] = fill(cell, widths[i])
		}
		if _, err := fmt.Fprintln(e.out, strings.TrimRight(strings.Join(row, "  "), " ")); err != nil {
			return err
		}
	}
	return nil
}
