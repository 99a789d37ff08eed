package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"stampede/app/account"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/streams"
)

// NewUser is an account that is to be made.
type NewUser = account.NewUser

// UserSummary is an account as operators see it.
type UserSummary struct {
	ID        shop.ID        `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Role      shop.Role      `json:"role"`
	State     shop.UserState `json:"state"`
	Lang      string         `json:"lang"`
	CreatedAt shop.Millis    `json:"created_at"`
}

// AddUser makes an account. Without a password a link that sets one is handed to the stream of mails, from which a
// running server sends it.
func (t *Tools) AddUser(ctx context.Context, n NewUser) (UserSummary, error) {
	if err := t.prepared(ctx); err != nil {
		return UserSummary{}, err
	}
	if n.Password == "" {
		if err := t.connect(ctx); err != nil {
			return UserSummary{}, fmt.Errorf("mail a link (or give a password with --password): %w", err)
		}
	}
	lease, err := t.stores.db.LeaseNode(ctx)
	if err != nil {
		return UserSummary{}, fmt.Errorf("lease a node number: %w", err)
	}
	t.config.atHome(About{Addr: t.config.Listen}.Local())
	accounts := &account.Accounts{
		Store: t.stores.db, Mint: lease.Mint, Now: wallClock, Public: t.config.PublicURL,
		Shelf: account.NewShelf(nil), Mailer: streams.NewMailStream(t.stores.client),
	}
	u, err := accounts.Add(ctx, n, func(u *shop.User, all func(ctx context.Context) error) error {
		done, err := t.act(ctx, func(ctx context.Context) (journal.Act, error) {
			after := map[string]any{"role": u.Role, "state": u.State}
			return journal.Act{Kind: "user.add", Object: "user:" + u.ID.String(), After: after, Answer: u.ID}, all(ctx)
		})
		if err == nil && done.Repeated {
			err = shop.Fail(shop.Conflict, "this was done before, under the same key")
		}
		return err
	})
	summary := UserSummary{u.ID, u.Email, u.Name, u.Role, u.State, u.Lang, u.CreatedAt}
	return summary, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// wallClock is the time for what only informs people.
func wallClock() shop.Millis { return shop.MillisOf(time.Now()) }
