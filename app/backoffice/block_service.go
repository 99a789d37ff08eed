package backoffice

import (
	"context"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// BlockService lists, adds and removes blocks for operators.
type BlockService struct {
	Store *store.Store
	Time  func() shop.Millis // decides which blocks are in force
}

// MaxBlock limits the duration of a block, so that its end time cannot overflow. Duration 0 means no end.
const MaxBlock = 10 * 365 * 24 * time.Hour

// AddBlock blocks a user, an address or a network and returns the stored block. WrongState: the block
// applies to the operator, or to the last admin who can log in. Forbidden: only an admin can block this account.
func (s *BlockService) AddBlock(
	ctx context.Context, actor journal.Actor, b store.Block, duration time.Duration,
) (store.Block, error) {
	if b.CreatedBy == "" {
		name := []rune(actor.Name)
		b.CreatedBy = string(name[:min(maxBlocker, len(name))])
	}
	if err := NormalizeBlock(&b); err != nil {
		return b, err
	}
	if duration < 0 || duration > MaxBlock {
		return b, shop.Fail(shop.BadRequest, "a block must end within ten years, or have no end")
	}
	if blocksActor(&b, &actor) {
		return b, shop.Fail(shop.WrongState, "this block would apply to you: it has your account or your address")
	}
	number, err := store.RunOperationFor[int64](ctx, s.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		if err := mayBlock(ctx, tx, &b, &actor); err != nil {
			return journal.Operation{}, err
		}
		added, err := tx.Blocks().AddBlock(ctx, b, duration)
		return journal.Operation{
			Kind: "block.add", Object: blockObject(&added), After: journaledBlock(&added),
			Result: added.ID,
		}, err
	})
	if err != nil {
		return b, err
	}
	// The journal stores only a part of the block, and the block may have been removed since.
	all, err := s.Store.Blocks().Blocks(ctx, 0)
	if i := slices.IndexFunc(all, func(stored store.Block) bool { return stored.ID == number }); i >= 0 {
		return all[i], nil
	}
	b.ID = number
	return b, shop.Unavailable("the block list", err)
}

// blocksActor reports whether the normalized block has the operator's own account or address.
func blocksActor(b *store.Block, actor *journal.Actor) bool {
	addr, _ := netip.ParseAddr(actor.From) // the zero address from the command line
	switch addr = addr.Unmap().WithZone(""); b.Kind {
	case store.BlockUser:
		return b.Value == actor.User.String()
	case store.BlockAddress:
		return b.Value == addr.String()
	default:
		network, err := netip.ParsePrefix(b.Value)
		return err == nil && network.Contains(addr)
	}
}

// mayBlock returns Forbidden if an operator without the role admin blocks an account of the staff.
func mayBlock(ctx context.Context, tx *store.Store, b *store.Block, actor *journal.Actor) error {
	if b.Kind != store.BlockUser || actor.Role == shop.Admin {
		return nil
	}
	id, err := shop.ParseID(b.Value)
	if err != nil {
		return err
	}
	u, err := tx.Accounts().UserByID(ctx, id)
	if err == nil && u.Role.IsOperator() {
		return shop.Fail(shop.Forbidden, "only an admin can block an account with the role operator or admin")
	}
	return shop.Unavailable("the account", shop.IgnoreNoRow(err))
}

// ListBlocks returns the blocks in force, oldest first.
func (s *BlockService) ListBlocks(ctx context.Context) ([]store.Block, error) {
	blocks, err := s.Store.Blocks().Blocks(ctx, s.Time())
	return blocks, shop.Unavailable("the block list", err)
}

// RemoveBlock removes a block. NotFound: no such block is in force.
func (s *BlockService) RemoveBlock(ctx context.Context, actor journal.Actor, id int64) error {
	_, err := s.Store.RunOperation(ctx, actor, func(tx *store.Store) (journal.Operation, error) {
		removed, err := tx.Blocks().RemoveBlock(ctx, id)
		return journal.Operation{Kind: "block.remove", Object: blockObject(&removed), Before: journaledBlock(&removed)}, err
	})
	return err
}

func blockObject(b *store.Block) string { return "block:" + strconv.FormatInt(b.ID, 10) }

// journaledBlock returns the part of a block that the journal stores. It omits addresses, which are personal data. The
// row of the block contains the address.
func journaledBlock(b *store.Block) any {
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
