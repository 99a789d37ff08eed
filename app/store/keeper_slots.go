package store

import (
	"context"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// LockSlots answers the slots that overlap [from, to); none of them changes, and none is added, until the act ends. It
// raises the version of the catalogue, which keeps others from adding or removing any until the act ends.
func (s *Store) LockSlots(ctx context.Context, from, to shop.Millis) (slots []shop.Slot, err error) {
	err = s.edit(ctx, "lock slots", func(tx bun.Conn) error {
		slots, err = readSlots(ctx, tx, where("hidden = 0 AND opens_at < ? AND closes_at > ?", to, from))
		return err
	})
	return slots, err
}

// LockSlot reads a slot to which no sale comes until the act ends. ErrNoRow if there is none.
func (s *Store) LockSlot(ctx context.Context, id shop.ID) (slot shop.Slot, err error) {
	what := "lock slot " + id.String()
	err = s.edit(ctx, what, func(tx bun.Conn) error {
		found, err := readSlots(ctx, tx, where("id = ?", id))
		slot, err = only(what, found, err)
		return err
	})
	return slot, err
}

// RemoveSlot removes a slot without sales; one that has only archived ones is archived. WrongState: it has others. It
// raises the version of the catalogue, which keeps sales from coming to it meanwhile.
func (s *Store) RemoveSlot(ctx context.Context, id shop.ID) (archived bool, err error) {
	what := "remove slot " + id.String()
	err = s.edit(ctx, what, func(tx bun.Conn) error {
		n, err := exec(ctx, tx, "INSERT INTO archived_slots (id, opens_at, closes_at, archived_at)"+
			" SELECT id, opens_at, closes_at, ? FROM slots WHERE id = ?"+
			" AND EXISTS (SELECT 1 FROM sales WHERE sales.slot_id = ?)", wallClock(), id, id)
		if err != nil {
			return err
		}
		archived = n > 0
		n, err = exec(ctx, tx, "DELETE FROM slots WHERE id = ?"+
			" AND NOT EXISTS (SELECT 1 FROM sales WHERE sales.slot_id = ? AND sales.archived_at = 0)", id, id)
		if err == nil && n == 0 {
			err = shop.Fail(shop.WrongState, "it has sales: only a slot without any, or archived ones, can be removed")
		}
		return err
	})
	return archived, err
}
