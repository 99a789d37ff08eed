package store

import (
	"context"
	"slices"

	"github.com/uptrace/bun"

	"stampede/app"
)

// Names of the settings that say which signing key counts. They change in one transaction.
const (
	settingGeneration = "signing_generation"
	settingSince      = "signing_since"
	settingOldest     = "signing_oldest"
)

// Revoke makes access tokens not count. See app.DeviceStore.
func (s *Store) Revoke(ctx context.Context, subjects []app.ID, until app.Millis) error {
	return s.inTx(ctx, "revoke tokens", func(tx bun.Conn) error { return s.revoke(ctx, tx, subjects, until) })
}

// revoke writes one statement per subject, in their order. A subject that was revoked before counts as new.
func (s *Store) revoke(ctx context.Context, tx bun.Conn, subjects []app.ID, until app.Millis) error {
	for _, subject := range slices.Sorted(slices.Values(subjects)) {
		_, err := exec(ctx, tx, "INSERT INTO revoked (subject, at, until) VALUES (?, "+s.d.now+", ?) "+s.d.onTaken+
			" at = "+s.d.now+", until = "+s.d.greatest+"(until, ?)", subject, until, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// Revocations reads what is new since an instant, and which key signs. See app.DeviceStore.
func (s *Store) Revocations(ctx context.Context, since app.Millis) (app.Revocations, error) {
	const what = "read revoked tokens"
	now, err := s.clock(ctx, s.db) // before the rows, so that none falls between two reads
	if err != nil {
		return app.Revocations{}, wrap(what, err)
	}
	out := app.Revocations{Now: now.At}
	var rows []struct {
		Subject app.ID
		Until   app.Millis
	}
	err = s.db.NewRaw("SELECT subject, until FROM revoked WHERE at >= ? AND until > ?", since, now.At).Scan(ctx, &rows)
	if err != nil {
		return app.Revocations{}, wrap(what, err)
	}
	for _, r := range rows {
		out.Subjects = append(out.Subjects, app.Revocation{Subject: r.Subject, Until: r.Until})
	}
	out.Keys, err = keyGeneration(ctx, s.db)
	return out, wrap(what, err)
}

// KeyGeneration reads which key signs. See app.KeyStore.
func (s *Store) KeyGeneration(ctx context.Context) (app.KeyGeneration, error) {
	k, err := keyGeneration(ctx, s.db)
	return k, wrap("read the generation of the signing key", err)
}

// keyGeneration reads all three settings in one statement, so that they are of one moment.
func keyGeneration(ctx context.Context, db bun.IDB) (k app.KeyGeneration, err error) {
	var rows []struct {
		Name  string
		Value int64
	}
	err = db.NewRaw("SELECT name, value FROM settings WHERE name IN (?, ?, ?)",
		settingGeneration, settingSince, settingOldest).Scan(ctx, &rows)
	for _, r := range rows {
		switch r.Name {
		case settingGeneration:
			k.Number = r.Value
		case settingSince:
			k.Since = app.Millis(r.Value)
		case settingOldest:
			k.Oldest = r.Value
		}
	}
	return k, err
}

// RotateKey begins the next generation. See app.KeyStore.
func (s *Store) RotateKey(ctx context.Context, from int64, only bool) (app.KeyGeneration, error) {
	return inTx(ctx, s, "rotate the signing key", func(tx bun.Conn) (app.KeyGeneration, error) {
		// The first rotation makes the row, which then locks out others until the commit.
		_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, '0') "+s.d.onTaken+" value = value",
			settingGeneration)
		if err != nil {
			return app.KeyGeneration{}, err
		}
		present, err := setting(ctx, tx, settingGeneration)
		if err == nil && present != from {
			err = app.ErrNoRow
		}
		if err != nil {
			return app.KeyGeneration{}, err
		}
		now, err := s.clock(ctx, tx)
		if err != nil {
			return app.KeyGeneration{}, err
		}
		oldest, err := counted(ctx, tx, settingOldest)
		if err != nil {
			return app.KeyGeneration{}, err
		}
		next := app.KeyGeneration{Number: from + 1, Since: now.At, Oldest: oldest}
		if only {
			next.Oldest = next.Number
		}
		return next, s.putKeyGeneration(ctx, tx, next)
	})
}

func (s *Store) putKeyGeneration(ctx context.Context, tx bun.Conn, k app.KeyGeneration) error {
	err := s.putSetting(ctx, tx, settingGeneration, k.Number)
	if err == nil {
		err = s.putSetting(ctx, tx, settingSince, k.Since)
	}
	if err == nil {
		err = s.putSetting(ctx, tx, settingOldest, k.Oldest)
	}
	return err
}
