package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"stampede/app/account"
	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// Issuer returns an issuer that signs access tokens like the nodes. With embedded stores it uses the key in the data
// folder, or creates it. It reads the generation of the key from the database. If an embedded database does not exist
// yet, the first generation is used.
func Issuer(ctx context.Context, c Config) (*account.Issuer, error) {
	issuer, err := OfflineIssuer(c, 0)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(folder(c.Data).database()); c.Embedded() && errors.Is(err, fs.ErrNotExist) {
		return issuer, nil
	}
	t, err := OpenTools(ctx, c)
	if err != nil {
		return nil, err
	}
	g, err := t.stores.db.Sessions().KeyGeneration(ctx)
	issuer.UseKeys(g)
	return issuer, errors.Join(err, t.Close())
}

// OfflineIssuer is Issuer without the database, for the given generation of the key; 0: no rotation. It cannot sign for
// a key that was rotated with --now, whose salt is in the database.
func OfflineIssuer(c Config, generation int64) (*account.Issuer, error) {
	key, err := c.JWTSecret, error(nil)
	if key == "" {
		f := folder(c.Data)
		if err := f.create(); err != nil {
			return nil, err
		}
		if key, err = f.secret(); err != nil {
			return nil, err
		}
	}
	issuer, err := account.NewIssuer([]byte(key), nil)
	if err == nil {
		issuer.UseKeys(shop.KeyGeneration{Number: generation, Oldest: generation})
	}
	return issuer, err
}

// RotateKey makes the nodes sign with the next generation of the key and returns it. Tokens of the previous generation
// stay valid for account.MaxLife, unless `endOlder` is true. Tokens of older generations become invalid. If `endOlder` is
// false, RotateKey therefore fails while tokens of an older generation may still be valid.
func (t *Tools) RotateKey(ctx context.Context, endOlder bool) (shop.KeyGeneration, error) {
	if err := t.ensureMigrated(ctx); err != nil {
		return shop.KeyGeneration{}, err
	}
	current, err := t.stores.db.Sessions().KeyGeneration(ctx)
	if err != nil {
		return current, err
	}
	now, err := t.stores.db.Clock(ctx)
	if err != nil {
		return current, err
	}
	if ends := current.Since.Add(account.MaxLife); !endOlder && current.Number > 0 && now.At < ends {
		return current, fmt.Errorf("the key was rotated at %s: tokens of the previous key are valid until %s, and another rotation "+
			"would end them; wait, or end all earlier tokens with --now",
			current.Since.Time().Format(time.RFC3339), ends.Time().Format(time.RFC3339))
	}
	next := current
	done, err := t.runOperation(ctx, func(tx *store.Store) (journal.Operation, error) {
		next, err := tx.Sessions().RotateKey(ctx, current.Number, endOlder)
		return journal.Operation{Kind: "key.rotate", Object: "key", Before: current, After: next, Result: next}, err
	})
	if err == nil {
		err = done.Decode(&next)
	}
	if errors.Is(err, shop.ErrNoRow) {
		return current, errors.New("another operator has rotated the key at the same time; check it and retry")
	}
	return next, err
}

// NewUser is an account to add.
type NewUser = account.NewUser

// UserSummary is the view of an account for operators.
type UserSummary struct {
	ID        shop.ID        `json:"id"`
	Email     string         `json:"email"`
	Name      string         `json:"name"`
	Role      shop.Role      `json:"role"`
	State     shop.UserState `json:"state"`
	Lang      string         `json:"lang"`
	CreatedAt shop.Millis    `json:"created_at"`
}

// AddUser adds an account. Without a password it queues an e-mail with a link that sets the password. A running server
// sends the e-mail.
func (t *Tools) AddUser(ctx context.Context, n NewUser) (UserSummary, error) {
	if n.Password == "" && t.config.PublicURL == "" && !t.config.Embedded() {
		return UserSummary{}, errors.New("STAMPEDE_PUBLIC_URL is not set, and the link in the e-mail leads to it: set it as on the " +
			"nodes of the shop, or set a password with --password")
	}
	if err := t.ensureMigrated(ctx); err != nil {
		return UserSummary{}, err
	}
	if n.Password == "" {
		if err := t.connect(ctx); err != nil {
			return UserSummary{}, fmt.Errorf("send a link by e-mail (or set a password with --password): %w", err)
		}
	}
	lease, err := t.stores.db.Nodes().LeaseNode(ctx)
	if err != nil {
		return UserSummary{}, fmt.Errorf("lease a node number: %w", err)
	}
	t.config.setLocalAddresses(About{Addr: t.config.Listen}.Local())
	accounts := &account.Accounts{
		Store: t.stores.db, Mint: lease.Mint, Now: wallClock, Public: t.config.PublicURL,
		Counters: account.NewCounters(nil), Mailer: streams.NewMailStream(t.stores.client),
	}
	u, err := accounts.Add(ctx, t.Actor, n)
	summary := UserSummary{u.ID, u.Email, u.Name, u.Role, u.State, u.Lang, u.CreatedAt}
	return summary, errors.Join(err, lease.Release(context.WithoutCancel(ctx)))
}

// Blocks returns the service of the block list. Running nodes apply its changes within a second.
func (t *Tools) Blocks(ctx context.Context) (*backoffice.BlockService, error) {
	return &backoffice.BlockService{Store: t.stores.db, Time: wallClock}, t.ensureMigrated(ctx)
}

// wallClock returns the local time, for display only.
func wallClock() shop.Millis { return shop.MillisOf(time.Now()) }
