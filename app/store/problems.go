package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Problems keeps orders that an operator has to settle after a recovery.
type Problems struct{ *session }

// maxProblem is the width of problems.reason.
const maxProblem = 400

// problemRow is the row of a shop.Problem.
type problemRow struct {
	bun.BaseModel `bun:"table:problems"`

	Order     shop.ID     `bun:"order_id,pk"`
	Sale      shop.ID     `bun:"sale_id"`
	Partition int         `bun:"part"`
	User      shop.ID     `bun:"user_id"`
	Reason    string      `bun:"reason"`
	Entry     *string     `bun:"entry"`
	FoundAt   shop.Millis `bun:"found_at"`
}

func (r *problemRow) problem() (shop.Problem, error) {
	p := shop.Problem{Sale: r.Sale, Order: r.Order, Text: r.Reason, Partition: r.Partition, User: r.User}
	if r.Entry == nil {
		return p, nil
	}
	p.Entry = new(shop.Entry)
	if err := json.Unmarshal([]byte(*r.Entry), p.Entry); err != nil {
		return p, fmt.Errorf("%w: the entry of order %s in problems: %w", shop.ErrPermanent, r.Order, err)
	}
	return p, nil
}

// Add adds problems. An open problem stays as it is. A problem that was settled and is found again is open again.
func (s Problems) Add(ctx context.Context, problems []shop.Problem, now shop.Millis) error {
	if len(problems) == 0 {
		return nil
	}
	return s.inTx(ctx, "add problems", func(tx bun.Conn) error {
		for i := range problems {
			if err := s.add(ctx, tx, &problems[i], now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s Problems) add(ctx context.Context, tx bun.Conn, p *shop.Problem, now shop.Millis) error {
	var entry *string
	if p.Entry != nil {
		text, err := json.Marshal(p.Entry)
		if err != nil {
			return err
		}
		entry = new(string(text))
	}
	reason := clip(p.Text, maxProblem)
	_, err := exec(ctx, tx, "INSERT INTO problems (order_id, sale_id, part, user_id, reason, entry, found_at)"+
		" VALUES (?, ?, ?, ?, ?, ?, ?) "+s.d.onDuplicate+
		" reason = CASE WHEN problems.decided_at = 0 THEN problems.reason ELSE ? END,"+
		" entry = COALESCE(problems.entry, ?), decision = '', decided_at = 0, decided_by = 0",
		p.Order, p.Sale, p.Partition, p.User, reason, entry, now, reason, entry)
	return err
}

// Open lists the open problems of a partition, the oldest order first.
func (s Problems) Open(ctx context.Context, partition int) ([]shop.Problem, error) {
	return s.open(ctx, "list problems", where("part = ?", partition))
}

// Count returns the number of open problems.
func (s Problems) Count(ctx context.Context) (int64, error) {
	n, err := s.db.NewSelect().Model((*problemRow)(nil)).Where("decided_at = 0").Count(ctx)
	return int64(n), wrap("count problems", err)
}

// Problem reads the open problem of an order. ErrNoRow: the order has none.
func (s Problems) Problem(ctx context.Context, order shop.ID) (shop.Problem, error) {
	found, err := s.open(ctx, "read the problem of order "+order.String(), where("order_id = ?", order))
	if err == nil && len(found) == 0 {
		err = shop.ErrNoRow
	}
	if err != nil {
		return shop.Problem{}, err
	}
	return found[0], nil
}

// Checking lists the user's orders that have no row until an operator has settled their problems.
func (s Orders) Checking(ctx context.Context, user shop.ID) ([]shop.Order, error) {
	found, err := s.Problems().open(ctx, "list problems of user "+user.String(), where("user_id = ?", user))
	var orders []shop.Order
	for i := range found {
		if found[i].Entry != nil {
			orders = append(orders, found[i].Reserved())
		}
	}
	return orders, err
}

func (s Problems) open(ctx context.Context, action string, selected selection) ([]shop.Problem, error) {
	var rows []problemRow
	err := selected(s.db.NewSelect().Model(&rows)).Where("decided_at = 0").Order("order_id").Scan(ctx)
	if err != nil {
		return nil, wrap(action, err)
	}
	problems := make([]shop.Problem, len(rows))
	for i := range rows {
		if problems[i], err = rows[i].problem(); err != nil {
			return nil, wrap(action, err)
		}
	}
	return problems, nil
}

// Decide records an operator's decision on an open problem. ErrNoRow: the order has no open problem.
func (s Problems) Decide(ctx context.Context, order shop.ID, decision string, by shop.ID, now shop.Millis) error {
	return s.inTx(ctx, "decide on order "+order.String(), func(tx bun.Conn) error {
		decided, err := s.decide(ctx, tx, order, decision, by, now)
		if err == nil && !decided {
			err = shop.ErrNoRow
		}
		return err
	})
}

// decide reports whether the order had an open problem. The row of the order has the entry now, with the buyer's
// address.
func (s Problems) decide(
	ctx context.Context, tx bun.Conn, order shop.ID, decision string, by shop.ID, now shop.Millis,
) (bool, error) {
	n, err := exec(ctx, tx, "UPDATE problems SET decision = ?, decided_by = ?, decided_at = ?, entry = NULL"+
		" WHERE order_id = ? AND decided_at = 0", decision, by, now, order)
	return n > 0, err
}
