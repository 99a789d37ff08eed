package backoffice

import (
	"context"
	"slices"
	"strconv"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// BlockDesk is where operators keep people out and let them in again.
type BlockDesk struct {
	Store *store.Store
	Time  func() shop.Millis // decides which blocks are in force
}

// LongestBlock keeps sums with it within what times can say; longer ones have no end.
const LongestBlock = 10 * 365 * 24 * time.Hour

// AddBlock blocks a user, an address or a network, and returns the block as it is stored.
func (d *BlockDesk) AddBlock(
	ctx context.Context, actor journal.Actor, b store.Block, lasts time.Duration,
) (store.Block, error) {
	if b.CreatedBy == "" {
		name := []rune(actor.Name)
		b.CreatedBy = string(name[:min(maxBlocker, len(name))])
	}
	if err := NormalizeBlock(&b); err != nil {
		return b, err
	}
	if lasts < 0 || lasts > LongestBlock {
		return b, shop.Fail(shop.BadRequest, "a block lasts at most ten years, or until it is removed")
	}
	number, err := store.ActFor[int64](ctx, d.Store, actor, func(tx *store.Store) (journal.Act, error) {
		added, err := tx.AddBlock(ctx, b, lasts)
		return journal.Act{Kind: "block.add", Object: objectOf(&added), After: keptOf(&added), Answer: added.ID}, err
	})
	if err != nil {
		return b, err
	}
	// The journal does not keep all of the block, which may have been removed since.
	all, err := d.Store.Blocks(ctx, 0)
	if i := slices.IndexFunc(all, func(one store.Block) bool { return one.ID == number }); i >= 0 {
		return all[i], nil
	}
	b.ID = number
	return b, shop.Unreadable("the block list", err)
}

// ListBlocks lists the blocks that are in force, oldest first.
func (d *BlockDesk) ListBlocks(ctx context.Context) ([]store.Block, error) {
	blocks, err := d.Store.Blocks(ctx, d.Time())
	return blocks, shop.Unreadable("the block list", err)
}

// RemoveBlock removes a block.
func (d *BlockDesk) RemoveBlock(ctx context.Context, actor journal.Actor, id int64) error {
	_, err := d.Store.Act(ctx, actor, func(tx *store.Store) (journal.Act, error) {
		removed, err := tx.RemoveBlock(ctx, id)
		return journal.Act{Kind: "block.remove", Object: objectOf(&removed), Before: keptOf(&removed)}, err
	})
	return err
}

func objectOf(b *store.Block) string { return "block:" + strconv.FormatInt(b.ID, 10) }

// keptOf is what the journal stores of a block. It has no address, which is personal data; the row of the block has it.
func keptOf(b *store.Block) any {
	kept := struct {
		Kind  store.BlockKind `json:"kind"`
		User  string          `json:"user,omitempty"`
		Until shop.Millis     `json:"until,omitempty"`
	}{Kind: b.Kind, Until: b.Until}
	if b.Kind == store.BlockUser {
		kept.User = b.Value
	}
	return kept
}
