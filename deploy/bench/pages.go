package main

import (
	"bytes"
	"embed"
	"errors"
	"text/template"
)

//go:embed results.md scale.md rolling.md
var texts embed.FS

// templates are the pages without their numbers; n formats a number with the given number of decimals.
var templates = template.Must(template.New("").Funcs(template.FuncMap{"n": digits}).ParseFS(texts, "*.md"))

// pages returns the pages about the rounds and the figures of other machines, by file name.
func pages(rounds []Round, machines []MachineFigures) (map[string][]byte, error) {
	var table, processor, results, scale bytes.Buffer
	for _, w := range rows {
		w.render(&table, rounds, machines)
	}
	processorTime(&processor, rounds)
	err := errors.Join(
		templates.ExecuteTemplate(&results, "results.md", map[string]any{
			"machine": rounds[0].Machine, "began": rounds[0].Began, "rounds": len(rounds), "scale": rounds[0].Scale,
			"table": table.String(), "processor": processor.String(),
		}),
		templates.ExecuteTemplate(&scale, "scale.md", extrapolate(rounds)),
	)
	return map[string][]byte{"RESULTS.md": results.Bytes(), "SCALE.md": scale.Bytes()}, err
}
