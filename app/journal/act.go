package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"stampede/app/shop"
)

// An act is a change that an operator makes. One transaction contains the change, its row in the journal and its
// answer. Effects outside the database (Redis, sockets) follow the COMMIT at least once: by the caller, or by a duty
// after a crash. The same act under the same key is done once; a repeat returns the stored answer.

// Via is the way on which an operator came.
type Via string

const (
	ViaHTTP Via = "http"
	ViaCLI  Via = "cli"
)

// Actor is who acts, and under which key.
type Actor struct {
	User    shop.ID // 0: whoever runs the command line
	Name    string
	Role    shop.Role
	Via     Via
	From    string // the address, or the host of the command line
	Request string // the id of the request, for the log; "" from the command line
	Key     string // 8–64 characters of A-Z a-z 0-9 _ -: the act is done once under it
	Hash    string // of what was asked, hex: the same key with something else is refused
	Note    string // why, for acts that do not carry one themselves
	Dry     bool   // the act is rolled back once it is known to work, and has no row in the journal
}

// Check rejects an invalid key or note.
func (a *Actor) Check() error {
	if err := CheckActKey(a.Key); err != nil {
		return err
	}
	return CheckNote(a.Note)
}

// Act is what was done, as the journal keeps it. Before, After and Answer become JSON, which names shoppers by ids
// only, because the journal outlives personal data.
type Act struct {
	Kind   string // what was done to what: "sale.pause"
	Object string // to which: "sale:7301444403200000101"
	Before any
	After  any
	Note   string // why, in the words of who acts
	Answer any    // what is answered now, and again when the same is asked under the same key
}

// Done is what became of an act.
type Done struct {
	Seq      int64           // of its row in the journal
	Answer   json.RawMessage // as it was given the first time
	Repeated bool            // it was done before, and nothing was changed now
}

// Into reads the answer of an act.
func (d *Done) Into(answer any) error {
	if err := json.Unmarshal(d.Answer, answer); err != nil {
		return fmt.Errorf("read the answer of act %d: %w", d.Seq, err)
	}
	return nil
}

const (
	shortestActKey = 8
	longestActKey  = 64
	// LongestNote is how much an operator may write to an act, in characters.
	LongestNote = 300
)

// CheckActKey refuses what cannot be the key of an act.
func CheckActKey(key string) error {
	switch {
	case key == "":
		return shop.Fail(shop.BadRequest, "the header Idempotency-Key is missing: name the act, with 8 to 64 characters of "+
			"A-Z a-z 0-9 _ -, and use the same name when you repeat it")
	case len(key) < shortestActKey || len(key) > longestActKey || strings.Trim(key, KeyLetters) != "":
		return shop.Fail(shop.BadRequest, "the Idempotency-Key must be 8 to 64 characters of A-Z a-z 0-9 _ -")
	}
	return nil
}

// KeyLetters are the characters of a key.
const KeyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// CheckNote refuses what an operator cannot write to an act.
func CheckNote(note string) error {
	if utf8.RuneCountInString(note) > LongestNote || !shop.Printable(note) {
		return shop.Failf(shop.BadRequest, "note must be text of at most %d characters", LongestNote)
	}
	return nil
}

// Changed is the answer to who acts on something that has moved on: it carries the thing as it is now.
func Changed(what string, current any) *shop.Error {
	e := shop.Fail(shop.Conflict, what+" was changed by somebody else meanwhile; look at it as it is now")
	e.Current = current
	return e
}
