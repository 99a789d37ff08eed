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
	List   journalList   `cmd:"" help:"List what operators have done, the newest first."`
	Verify journalVerify `cmd:"" help:"Prove that the journal is as it was written."`
}

type (
	journalList struct {
		Object string    `placeholder:"OBJECT" help:"Only what was done to it, like sale:7301444403200000101."`
		Actor  string    `placeholder:"WHO" help:"Only what somebody did: a user id, or a name."`
		Kind   string    `placeholder:"KIND" help:"Only acts of a kind, like sale.pause."`
		Since  time.Time `placeholder:"TIME" help:"Only from then on; RFC 3339, e.g. 2026-11-21T10:00:00+08:00."`
		Limit  int       `default:"100" help:"At most so many, up to 1000."`
		reading
	}
	journalVerify struct {
		Head string `placeholder:"HEAD" help:"A head that was printed earlier: it must be in the journal."`
		reading
	}
)

// errJournal sets exit status 3 for a modified audit log; the inconsistencies were already printed.
var errJournal = errors.New("the journal is not as it was written")

func (journalCmd) Help() string {
	return "Every change that an operator makes, in the console, over HTTP or here, is a row: who, what, before, after, from where, why. " +
		"Rows are never changed; each has a hash over what it says and over the row before it. Write the head that verify prints down " +
		"somewhere else from time to time: with --head it shows that nobody has written the journal anew since.\n\nExamples:\n\n" +
		"    stampede journal list --object sale:7301444403200000101\n    stampede journal list --actor ada --since 2026-11-21T10:00:00Z\n" +
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
	return e.look(c.reading, func(api *client) error {
		row := func(j *journal.Entry) string { return strconv.FormatInt(j.Seq, 10) }
		entries, err := pages(api, collection{"/journal", "entries"}, query, c.Limit, row)
		return list(e, c.JSON, err, entries, listing[journal.Entry]{
			none: "nothing was done", head: "row\tat\twho\tfrom\twhat\tto\tbefore\tafter\tnote",
			columns: func(j journal.Entry) []any {
				what, before, after := j.Kind+" "+j.Object, short(j.Before), short(j.After)
				return []any{j.Seq, e.wall(j.At), j.ActorName, j.Via, j.Source, what, before, after, j.Note}
			},
		})
	})
}

// short shortens a text for the table; --json prints it completely.
func short(text json.RawMessage) string {
	const most = 60
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}

func (c journalVerify) Run(e *env) error {
	return e.look(c.reading, func(api *client) error {
		var report journal.Report
		err := api.get("/journal/verify", url.Values{"head": {c.Head}}, &report)
		text := fmt.Sprintf("%d rows fit; head %s", report.Rows, report.Head)
		switch {
		case !report.OK:
			text = fmt.Sprintf("row %d does not fit: %s", report.At, report.Wrong)
		case report.Rows == 0:
			text = "nothing was done yet"
		}
		err = e.result(c.JSON, err, report, "%s", text)
		if err == nil && !report.OK {
			err = errJournal
		}
		return err
	})
}
