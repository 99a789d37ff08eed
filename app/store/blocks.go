package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Blocks keeps blocked users and addresses.
type Blocks struct{ *session }

// BlockKind is the kind of a blocked subject.
type BlockKind string

// Kinds of blocks. A network is a prefix such as 203.0.113.0/24.
const (
	BlockUser    BlockKind = "user"
	BlockAddress BlockKind = "address"
	BlockNetwork BlockKind = "network"
)

// Block excludes an account, an address or a network. It applies on all nodes within a second.
type Block struct {
	ID        int64       `json:"id"`
	Kind      BlockKind   `json:"kind"`
	Value     string      `json:"value"`
	Reason    string      `json:"reason"`
	Until     shop.Millis `json:"until,omitempty"` // 0: no limit
	CreatedBy string      `json:"created_by"`
	CreatedAt shop.Millis `json:"created_at"`
}

// settingBlocks counts the changes of the block list.
const settingBlocks = "blocks_version"

// maxBlocks limits the list, which every node holds in memory.
const maxBlocks = 100_000

type blockRow struct {
	bun.BaseModel `bun:"table:blocks"`

	ID        int64        `bun:"id,pk"`
	Kind      BlockKind    `bun:"kind"`
	Value     string       `bun:"value"`
	Reason    string       `bun:"reason"`
	Until     *shop.Millis `bun:"until"`
	CreatedBy string       `bun:"created_by"`
	CreatedAt shop.Millis  `bun:"created_at"`
}

func (r *blockRow) block() Block {
	return Block{
		ID: r.ID, Kind: r.Kind, Value: r.Value, Reason: r.Reason, Until: zeroIfNil(r.Until), CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt,
	}
}

// BlocksVersion identifies a state of the list. The number of rows detects rows that were deleted or ended by hand.
type BlocksVersion struct{ Changes, Rows int64 }

// Version returns the version of the list.
func (s Blocks) Version(ctx context.Context) (v BlocksVersion, err error) {
	if v.Changes, err = numberSetting(ctx, s.db, settingBlocks); err == nil {
		err = s.db.NewRaw("SELECT COUNT(*) FROM blocks WHERE removed_at IS NULL").Scan(ctx, &v.Rows)
	}
	return v, wrap("read the version of the block list", err)
}

// Blocks lists the blocks in force at the instant now, the oldest first.
func (s Blocks) Blocks(ctx context.Context, now shop.Millis) ([]Block, error) {
	var rows []blockRow
	err := inForce(s.db.NewSelect().Model(&rows), now).Order("id").Limit(maxBlocks).Scan(ctx)
	return convert(rows, (*blockRow).block), wrap("read the block list", err)
}

func inForce(q *bun.SelectQuery, now shop.Millis) *bun.SelectQuery {
	return q.Where("removed_at IS NULL").Where("until IS NULL OR until > ?", now)
}

// AddBlock writes a normalized block for the given duration (0: no limit). Conflict: the block exists. LimitReached:
// maxBlocks are in force. WrongState: the user is the last admin who can log in. The version is raised first: its row
// lock serialises editors, and no node sees the new version before the block.
func (s Blocks) AddBlock(ctx context.Context, b Block, duration time.Duration) (Block, error) {
	return inTx(ctx, s.session, "add a block", func(tx bun.Conn) (Block, error) {
		if err := s.raise(ctx, tx, settingBlocks); err != nil {
			return b, err
		}
		row := blockRow{Kind: b.Kind, Value: b.Value, Reason: b.Reason, CreatedBy: b.CreatedBy}
		err := tx.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), 0) + 1, "+s.d.now+" FROM blocks").
			Scan(&row.ID, &row.CreatedAt)
		if err != nil {
			return b, err
		}
		if err := s.checkNewBlock(ctx, tx, &row); err != nil {
			return b, err
		}
		if duration > 0 {
			row.Until = new(row.CreatedAt.Add(duration))
		}
		return row.block(), insert(ctx, tx, &row)
	})
}

// checkNewBlock rejects a block that exists already, a block of the last admin, and a block beyond maxBlocks.
func (s Blocks) checkNewBlock(ctx context.Context, tx bun.Conn, row *blockRow) error {
	var same []int64
	err := inForce(tx.NewSelect().Model((*blockRow)(nil)).Column("id"), row.CreatedAt).
		Where("kind = ? AND value = ?", row.Kind, row.Value).Limit(1).Scan(ctx, &same)
	if err != nil {
		return err
	}
	if len(same) > 0 {
		return shop.Fail(shop.Conflict, fmt.Sprintf("%s %s is blocked already, by number %d", row.Kind, row.Value, same[0]))
	}
	if err := s.keepUnblockedAdmin(ctx, tx, row); err != nil {
		return err
	}
	n, err := inForce(tx.NewSelect().Model((*blockRow)(nil)), row.CreatedAt).Count(ctx)
	if err == nil && n >= maxBlocks {
		err = shop.Fail(shop.LimitReached, fmt.Sprintf("%d blocks are in force, which is the limit: block "+
			"networks instead of addresses, or remove some", n))
	}
	return err
}

// keepUnblockedAdmin rejects a block of the last admin who can log in (WrongState). It accepts addresses, networks and
// guests.
func (s Blocks) keepUnblockedAdmin(ctx context.Context, tx bun.Conn, row *blockRow) error {
	if row.Kind != BlockUser {
		return nil
	}
	id, err := shop.ParseID(row.Value)
	if err != nil { // no account has this value as its id
		return nil
	}
	u, err := oneUser(ctx, tx.NewSelect().Where("id = ?", id))
	if errors.Is(err, sql.ErrNoRows) { // a guest
		return nil
	}
	if err != nil {
		return err
	}
	return s.Accounts().keepAdmin(ctx, tx, &u)
}

// RemoveBlock ends a block and returns it. NotFound: no block has this number, or it was removed before. An expired
// block can be removed.
func (s Blocks) RemoveBlock(ctx context.Context, id int64) (Block, error) {
	return inTx(ctx, s.session, "remove a block", func(tx bun.Conn) (Block, error) {
		if err := s.raise(ctx, tx, settingBlocks); err != nil {
			return Block{}, err
		}
		removed, err := exec(ctx, tx, "UPDATE blocks SET removed_at = "+s.d.now+" WHERE id = ? AND removed_at IS NULL", id)
		if err == nil && removed == 0 {
			err = shop.Fail(shop.NotFound, fmt.Sprintf("no block in force has the number %d; `stampede block list` shows them", id))
		}
		if err != nil {
			return Block{}, err
		}
		var row blockRow
		err = tx.NewSelect().Model(&row).Where("id = ?", id).Scan(ctx)
		return row.block(), err
	})
}
