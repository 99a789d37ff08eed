package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"stampede/app/journal"
)

type journalCmd struct {
	List   journalList   `cmd:"" help:"List the operations of operators, newest first."`
	Verify journalVerify `cmd:"" help:"Verify that no row of the journal was changed."`
}

type (
	journalList struct {
		Object string    `placeholder:"OBJECT" help:"Only operations on this object, for example sale:7301444403200000101."`
		Actor  string    `placeholder:"WHO" help:"Only operations of this actor: a user id or a name."`
		Kind   string    `placeholder:"KIND" help:"Only operations of this kind, for example sale.pause."`
		Since  time.Time `placeholder:"TIME" help:"Only operations since this time in RFC 3339, for example 2026-11-21T10:00:00+08:00."`
		Limit  int       `default:"100" help:"Maximum number of rows, 1 to 1000."`
		readFlags
	}
	journalVerify struct {
		Head string `placeholder:"HEAD" help:"A head that was printed earlier. It must be in the journal."`
		readFlags
	}
)

// errJournal sets exit status 3 for a modified journal; the inconsistencies were already printed.
var errJournal = errors.New("the journal was changed")

func (journalCmd) Help() string {
	return "Every change by an operator, in the console, over HTTP or with these commands, is a row: actor, " +
		"operation, state before and after, origin and reason. Rows never change. Each row has a hash over its own " +
		"fields and over the row before it. From time to time, store the head that verify prints in another place: " +
		"with --head, verify proves that the journal was not rewritten since.\n\n" +
		"Examples:\n\n    stampede journal list --object sale:7301444403200000101\n" +
		"    stampede journal list --actor ada --since 2026-11-21T10:00:00Z\n" +
		"    stampede journal verify"
}

func (c *journalList) Run(e *env) error {
	if c.Limit < 1 || c.Limit > 1000 {
		return fmt.Errorf("%w: --limit is %d, want 1 to 1000", errUsage, c.Limit)
	}
	query := url.Values{"object": {c.Object}, "actor": {c.Actor}, "kind": {c.Kind}}
	if !c.Since.IsZero() {
		query.Set("since", strconv.FormatInt(c.Since.UnixMilli(), 10))
	}
	return e.read(c.readFlags, func(api *client) error {
		row := func(j *journal.Entry) string { return strconv.FormatInt(j.Seq, 10) }
		entries, err := pages(api, collection{"/journal", "entries"}, query, c.Limit, row)
		return list(e, c.JSON, err, entries, listing[journal.Entry]{
			none: "no operations", head: "row\tat\twho\tfrom\twhat\tto\tbefore\tafter\tnote",
			columns: func(j journal.Entry) []any {
				what, before, after := j.Kind+" "+j.Object, short(j.Before), short(j.After)
				return []any{j.Seq, e.localTime(j.At), j.ActorName, j.Via, j.Source, what, before, after, j.Note}
			},
		})
	})
}

// short shortens a text for the table; --json prints it completely.
func short(text json.RawMessage) string {
	const maxLength = 60
	if r := []rune(string(text)); len(r) > maxLength {
		return string(r[:maxLength]) + "…"
	}
	return string(text)
}

func (c journalVerify) Run(e *env) error {
	return e.read(c.readFlags, func(api *client) error {
		var report journal.Report
		err := api.get("/journal/verify", url.Values{"head": {c.Head}}, &report)
		text := fmt.Sprintf("%d rows are valid; head %s", report.Rows, report.Head)
		switch {
		case !report.OK:
			text = fmt.Sprintf("row %d is invalid: %s", report.At, report.Problem)
		case report.Rows == 0:
			text = "the journal is empty"
		}
		err = e.result(c.JSON, err, report, "%s", text)
		if err == nil && !report.OK {
			err = errJournal
		}
		return err
	})
}
