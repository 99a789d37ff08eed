package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strconv"

	"github.com/uptrace/bun"

	"stampede/app/shop"
)

// Names of the settings that say which signing key counts. They change in one transaction.
const (
	settingGeneration = "signing_generation"
	settingSince      = "signing_since"
	settingOldest     = "signing_oldest"
	settingSalt       = "signing_salt"
)

// Revoke makes the access tokens of the subjects not count until the instant given. See Identity.Subject.
func (s *Store) Revoke(ctx context.Context, subjects []shop.ID, until shop.Millis) error {
	return s.inTx(ctx, "revoke tokens", func(tx bun.Conn) error { return s.revoke(ctx, tx, subjects, until) })
}

// revoke writes one statement per subject, in their order. A subject that was revoked before counts as new.
func (s *Store) revoke(ctx context.Context, tx bun.Conn, subjects []shop.ID, until shop.Millis) error {
	for _, subject := range slices.Sorted(slices.Values(subjects)) {
		_, err := exec(ctx, tx, "INSERT INTO revoked (subject, at, until) VALUES (?, "+s.d.now+", ?) "+s.d.onTaken+
			" at = "+s.d.now+", until = "+s.d.greatest+"(until, ?)", subject, until, until)
		if err != nil {
			return err
		}
	}
	return nil
}

// Revocations lists what was revoked at since or later and has not ended.
func (s *Store) Revocations(ctx context.Context, since shop.Millis) (shop.Revocations, error) {
	const what = "read revoked tokens"
	now, err := s.clock(ctx, s.db) // before the rows, so that none falls between two reads
	if err != nil {
		return shop.Revocations{}, wrap(what, err)
	}
	out := shop.Revocations{Now: now.At}
	var rows []struct {
		Subject shop.ID
		Until   shop.Millis
	}
	err = s.db.NewRaw("SELECT subject, until FROM revoked WHERE at >= ? AND until > ?", since, now.At).Scan(ctx, &rows)
	if err != nil {
		return shop.Revocations{}, wrap(what, err)
	}
	for _, r := range rows {
		out.Subjects = append(out.Subjects, shop.Revocation{Subject: r.Subject, Until: r.Until})
	}
	out.Keys, err = keyGeneration(ctx, s.db)
	return out, wrap(what, err)
}

// KeyGeneration reads which key signs.
func (s *Store) KeyGeneration(ctx context.Context) (shop.KeyGeneration, error) {
	k, err := keyGeneration(ctx, s.db)
	return k, wrap("read the generation of the signing key", err)
}

// keyGeneration reads all settings in one statement, so that they are of one moment.
func keyGeneration(ctx context.Context, db bun.IDB) (k shop.KeyGeneration, err error) {
	var rows []struct{ Name, Value string }
	err = db.NewRaw("SELECT name, value FROM settings WHERE name IN (?, ?, ?, ?)",
		settingGeneration, settingSince, settingOldest, settingSalt).Scan(ctx, &rows)
	for _, r := range rows {
		if r.Name == settingSalt {
			k.Salt = r.Value
			continue
		}
		n, wrong := strconv.ParseInt(r.Value, 10, 64)
		switch err = cmp.Or(err, wrong); r.Name {
		case settingGeneration:
			k.Number = n
		case settingSince:
			k.Since = shop.Millis(n)
		case settingOldest:
			k.Oldest = n
		}
	}
	return k, err
}

// RotateKey begins the generation after from, if that is still the present one (else ErrNoRow). only: none of
func (s *Store) RotateKey(ctx context.Context, from int64, only bool) (shop.KeyGeneration, error) {
	return inTx(ctx, s, "rotate the signing key", func(tx bun.Conn) (shop.KeyGeneration, error) {
		// The first rotation makes the row, which then locks out others until the commit.
		_, err := exec(ctx, tx, "INSERT INTO settings (name, value) VALUES (?, '0') "+s.d.onTaken+" value = value",
			settingGeneration)
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		present, err := keyGeneration(ctx, tx)
		if err == nil && present.Number != from {
			err = shop.ErrNoRow
		}
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		now, err := s.clock(ctx, tx)
		if err != nil {
			return shop.KeyGeneration{}, err
		}
		next := present
		next.Number, next.Since = from+1, now.At
		if only {
			next.Oldest, next.Salt = next.Number, rand.Text()
		}
		return next, s.putKeyGeneration(ctx, tx, next)
	})
}

func (s *Store) putKeyGeneration(ctx context.Context, tx bun.Conn, k shop.KeyGeneration) error {
	err := s.putSetting(ctx, tx, settingGeneration, k.Number)
	if err == nil {
		err = s.putSetting(ctx, tx, settingSince, k.Since)
	}
	if err == nil {
		err = s.putSetting(ctx, tx, settingOldest, k.Oldest)
	}
	if err == nil {
		err = s.putSetting(ctx, tx, settingSalt, k.Salt)
	}
	return err
}
