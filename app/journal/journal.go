package journal

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"stampede/app/shop"
)

// The journal records operations. Rows are append-only. Each row contains a hash of its own fields and of the previous
// row. To change, remove or insert a row, an attacker must rewrite all later rows. A comparison with a stored hash (a
// head) then finds the change.

// Entry is one row of the journal.
type Entry struct {
	Seq         int64           `json:"seq"` // 1, 2, 3 …, without a gap
	At          shop.Millis     `json:"at"`
	ActorID     shop.ID         `json:"actor_id,omitzero"`
	ActorName   string          `json:"actor_name"`
	Role        shop.Role       `json:"role"`
	Via         Via             `json:"via"`
	Source      string          `json:"source"`
	Request     string          `json:"request,omitempty"`
	Key         string          `json:"key"`
	RequestHash string          `json:"-"`
	Kind        string          `json:"kind"`
	Object      string          `json:"object"`
	Before      json.RawMessage `json:"before,omitempty"`
	After       json.RawMessage `json:"after,omitempty"`
	Note        string          `json:"note,omitempty"`
	Result      json.RawMessage `json:"-"`
	PrevHash    string          `json:"prev_hash"`
	Hash        string          `json:"hash"`
}

// Sum returns the hash that the row must have, in hex: SHA-256 over all other fields in order, each as the length of
// its text in eight bytes and the text.
func (e *Entry) Sum() string {
	h := sha256.New()
	for _, field := range []string{
		strconv.FormatInt(e.Seq, 10), strconv.FormatInt(int64(e.At), 10), strconv.FormatInt(int64(e.ActorID), 10),
		e.ActorName, string(e.Role), string(e.Via), e.Source, e.Request, e.Key, e.RequestHash, e.Kind, e.Object,
		string(e.Before), string(e.After), e.Note, string(e.Result), e.PrevHash,
	} {
		var length [8]byte
		binary.BigEndian.PutUint64(length[:], uint64(len(field)))
		h.Write(length[:])
		h.Write([]byte(field))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Head is the number and the hash of a row.
type Head struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

func (h Head) String() string { return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash }

// ParseHead parses the result of String.
func ParseHead(text string) (Head, error) {
	number, hash, _ := strings.Cut(text, ":")
	seq, err := strconv.ParseInt(number, 10, 64)
	if raw, hashErr := hex.DecodeString(hash); err != nil || hashErr != nil || seq < 1 || len(raw) != sha256.Size {
		return Head{}, shop.Fail(shop.BadRequest, "a head must be the number of a row, a colon and its hash, as verify prints it")
	}
	return Head{seq, strings.ToLower(hash)}, nil
}

// Query filters the journal; zero fields do not filter.
type Query struct {
	Before int64 // only rows with smaller numbers
	Limit  int
	Object string
	Actor  string // id or name
	Kind   string
	Since  shop.Millis
}

// Report is the result of a verification.
type Report struct {
	Rows    int64  `json:"rows"` // number of verified rows
	Head    Head   `json:"head"` // of the last verified row; operators store it outside the database
	OK      bool   `json:"ok"`
	Problem string `json:"wrong,omitempty"` // the first error
	At      int64  `json:"at,omitempty"`    // the row of the error
}

// journalPage is the number of rows per read.
const journalPage = 500

// Verify reads the whole journal and reports its first invalid row. The journal must contain the heads. read returns at
// most limit rows in their order, from the row seq on.
func Verify(
	ctx context.Context, read func(ctx context.Context, seq int64, limit int) ([]Entry, error), heads ...Head,
) (Report, error) {
	w := journalWalk{required: heads}
	for {
		rows, err := read(ctx, w.last.Seq+1, journalPage)
		if err != nil {
			return Report{}, err
		}
		for i := range rows {
			if problem := w.step(&rows[i]); problem != "" {
				return Report{Rows: w.last.Seq, Head: w.last, Problem: problem, At: rows[i].Seq}, nil
			}
		}
		if len(rows) < journalPage {
			break
		}
	}
	for _, h := range w.required {
		if h.Seq > w.last.Seq {
			problem := fmt.Sprintf("the journal ends with row %d, but row %d existed before", w.last.Seq, h.Seq)
			return Report{Rows: w.last.Seq, Head: w.last, Problem: problem, At: w.last.Seq + 1}, nil
		}
	}
	return Report{Rows: w.last.Seq, Head: w.last, OK: true}, nil
}

// journalWalk holds the progress of a verification.
type journalWalk struct {
	last     Head
	required []Head // heads that the journal must contain
}

// step verifies the next row and returns a description of its error; "": the row is valid.
func (w *journalWalk) step(e *Entry) string {
	switch {
	case e.Seq != w.last.Seq+1:
		return fmt.Sprintf("row %d follows row %d", e.Seq, w.last.Seq)
	case e.PrevHash != w.last.Hash:
		return "its previous hash differs from the hash of the row before it: that row was changed, removed or inserted later"
	case e.Hash != e.Sum():
		return "its hash does not match its content: the row was changed"
	}
	for _, h := range w.required {
		if h.Seq == e.Seq && h.Hash != e.Hash {
			return "its hash differs from the recorded head: the journal was rewritten"
		}
	}
	w.last = Head{e.Seq, e.Hash}
	return ""
}
