package journal

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"stampede/app/shop"
)

// An Operation is a change by an operator. One transaction contains the change, its row in the journal and its
// result. Effects outside the database (Redis, sockets) follow the COMMIT at least once: the caller performs them, or a
// background job after a crash. An operation with the same key is performed once; a repeated request returns the stored
// result.

// Via is the interface that an operator used.
type Via string

const (
	ViaHTTP Via = "http"
	ViaCLI  Via = "cli"
)

// Actor identifies the operator and the request of an operation.
type Actor struct {
	User    shop.ID // 0: user of the command line
	Name    string
	Role    shop.Role
	Via     Via
	From    string // the IP address, or the host of the command line
	Request string // the request id, for the log; "" from the command line
	Key     string // idempotency key: 8–64 characters of A-Z a-z 0-9 _ -
	Hash    string // of the request, hex: the same key with another hash is rejected
	Note    string // the reason; used if the Operation has no note
	DryRun  bool   // validate only: roll back and write no journal row
}

// Check rejects an invalid key or note.
func (a *Actor) Check() error {
	if err := CheckOperationKey(a.Key); err != nil {
		return err
	}
	return CheckNote(a.Note)
}

// Operation is an operation as the journal stores it. The states and the result are encoded as JSON and refer to buyers
// only by id, because the journal outlives personal data.
type Operation struct {
	Kind   string // type of operation: "sale.pause"
	Object string // changed object: "sale:7301444403200000101"
	Before any
	After  any
	Note   string // the operator's reason
	Result any    // the result; a repeated request with the same key returns it too
}

// Done is the outcome of an operation.
type Done struct {
	Seq      int64           // number of the row in the journal
	Result   json.RawMessage // the result of the first run
	Repeated bool            // an earlier request performed the operation; this request changed nothing
}

// Decode decodes the result of an operation.
func (d *Done) Decode(target any) error {
	if err := json.Unmarshal(d.Result, target); err != nil {
		return fmt.Errorf("decode the result of operation %d: %w", d.Seq, err)
	}
	return nil
}

const (
	minOperationKey = 8
	maxOperationKey = 64
	// MaxNote is the maximum length of a note in characters.
	MaxNote = 300
)

// CheckOperationKey rejects an invalid idempotency key.
func CheckOperationKey(key string) error {
	switch {
	case key == "":
		return shop.Fail(shop.BadRequest, "the header Idempotency-Key is missing: send a key of 8 to 64 characters of "+
			"A-Z a-z 0-9 _ -, and the same key when you repeat the request")
	case len(key) < minOperationKey || len(key) > maxOperationKey || strings.Trim(key, KeyLetters) != "":
		return shop.Fail(shop.BadRequest, "the Idempotency-Key must be 8 to 64 characters of A-Z a-z 0-9 _ -")
	}
	return nil
}

// KeyLetters contains the valid characters of a key.
const KeyLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"

// CheckNote rejects an invalid note.
func CheckNote(note string) error {
	if utf8.RuneCountInString(note) > MaxNote || !shop.Printable(note) {
		return shop.Failf(shop.BadRequest, "note must be printable text of at most %d characters", MaxNote)
	}
	return nil
}

// Changed returns the conflict for an operation on an outdated version. It carries the current record.
func Changed(object string, current any) *shop.Error {
	e := shop.Fail(shop.Conflict, object+" changed in the meantime; read the current version and try again")
	e.Current = current
	return e
}
