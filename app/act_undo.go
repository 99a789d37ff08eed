package app

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Undo takes back what an operator did, as long as nothing has changed since: it does the opposite, which is an act of
// its own with its own row. Units that were added may be sold by now, so they are withdrawn, and not undone.
type Undo struct {
	Journal    *Journal
	SaleDesk   *SaleDesk
	BlockDesk  *BlockDesk
	SwitchDesk *SwitchDesk
	Catalogue  *CatalogueDesk
}

// undoable are the kinds of acts that can be taken back.
var undoable = map[string]bool{
	"sale.pause": true, "sale.resume": true, "sale.end": true, "sale.challenge": true, "switches.edit": true,
	"notice.say": true, "block.add": true, "block.remove": true, "product.edit": true, "product.archive": true,
	"category.edit": true, "sale.edit": true, "sale.archive": true,
}

// UndoAct takes back the act of a row. NotFound: there is none. WrongState: its kind cannot be taken back. Conflict:
// something has changed since.
func (u *Undo) UndoAct(ctx context.Context, actor Actor, seq int64) error {
	rows, err := u.Journal.Store.JournalFrom(ctx, seq, 1)
	if err != nil {
		return Unreadable("the journal", err)
	}
	if len(rows) == 0 || rows[0].Seq != seq {
		return Fail(NotFound, fmt.Sprintf("the journal has no row %d", seq))
	}
	actor.Undoes = seq
	return u.undo(ctx, actor, &rows[0])
}

func (u *Undo) undo(ctx context.Context, actor Actor, e *JournalEntry) error {
	note := fmt.Sprintf("takes back row %d", e.Seq)
	switch e.Kind {
	case "sale.pause", "sale.resume", "sale.end", "sale.challenge":
		return u.undoSale(ctx, actor, e, note)
	case "switches.edit":
		var before, after Switches
		if err := readBoth(e, &before, &after); err != nil {
			return err
		}
		_, err := u.SwitchDesk.EditSwitches(ctx, actor, SwitchesEdit{
			Version: after.Version, Note: note, TickMS: &before.TickMS, HTTPBuy: &before.HTTPBuy,
			LeastChallenge: &before.LeastChallenge, Lists: &before.Lists, WorkBits: &before.WorkBits,
		})
		return err
	case "notice.say":
		_, err := u.SwitchDesk.TakeBack(ctx, actor)
		return err
	case "product.edit", "product.archive", "category.edit", "sale.edit", "sale.archive":
		return u.undoCatalogue(ctx, actor, e)
	case "block.add", "block.remove":
		_, number, _ := strings.Cut(e.Object, ":")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return fmt.Errorf("row %d: %w", e.Seq, err)
		}
		if e.Kind == "block.remove" {
			return u.BlockDesk.RestoreBlock(ctx, actor, id)
		}
		return u.BlockDesk.RemoveBlock(ctx, actor, id)
	}
	return Fail(WrongState, "an act of the kind "+e.Kind+" cannot be taken back")
}

// undoSale takes back what was decided about a sale that is still at the version that this made.
func (u *Undo) undoSale(ctx context.Context, actor Actor, e *JournalEntry, note string) error {
	var before, after SaleTerms
	if err := readBoth(e, &before, &after); err != nil {
		return err
	}
	if after.Version == 0 { // set from a command line that knows no versions
		return Fail(WrongState, "this row does not say enough to be taken back")
	}
	a := SaleAct{Version: after.Version, Note: note}
	var err error
	switch e.Kind {
	case "sale.pause":
		_, err = u.SaleDesk.ResumeSale(ctx, actor, after.ID, a)
	case "sale.resume":
		_, err = u.SaleDesk.PauseSale(ctx, actor, after.ID, a)
	case "sale.end":
		_, err = u.SaleDesk.ReopenSale(ctx, actor, after.ID, a, before.ClosesAt)
	default:
		_, err = u.SaleDesk.SetSaleChallenge(ctx, actor, after.ID, a, before.Challenge)
	}
	return err
}

func readBoth(e *JournalEntry, before, after any) error {
	for text, v := range map[*json.RawMessage]any{&e.Before: before, &e.After: after} {
		if err := json.Unmarshal(*text, v); err != nil {
			return fmt.Errorf("read row %d of the journal: %w", e.Seq, err)
		}
	}
	return nil
}
