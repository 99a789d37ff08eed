package server

import (
	"context"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"time"

	"stampede/app/account"
	"stampede/app/admission"
	"stampede/app/privacy"
	"stampede/app/shop"
)

// composeAccounts connects the flows of accounts.
func (p *parts) composeAccounts(c *Config, issuer *account.Issuer) {
	counters := account.NewCounters(p.stores.client)
	p.accounts = &account.Accounts{
		Store: p.stores.db, Mailer: p.mails.stream,
		Issuer: issuer, Hasher: account.NewHasher(), Captchas: account.NewCaptchas(counters, p.clock.Now),
		Counters: counters,
		Watch:    &account.Watch{Store: p.stores.db, Issuer: issuer},
		Mint:     p.lease.Mint, Now: p.clock.Now, Public: c.PublicURL,
	}
}

// removeInterval is the interval between deletions of expired rows.
const removeInterval = time.Hour

// removeExpiredAccounts deletes accounts that were never activated, and expired logins, links and revocations.
func (p *parts) removeExpiredAccounts(ctx context.Context) error {
	return shop.Repeat(ctx, removeInterval, "remove expired data of accounts", func(ctx context.Context) error {
		return p.stores.db.PersonalData().PurgeAccounts(ctx, p.clock.Now())
	})
}

// personalData returns the service that exports and erases a user's stored data.
func (p *parts) personalData() *privacy.PersonalData {
	db := p.stores.db
	return &privacy.PersonalData{
		Store: db, Now: p.clock.Now, CheckPassword: p.accounts.VerifyPassword,
	}
}

// passes derives the key of passes from the signing secret, which all nodes share. Keys are domain-separated: a pass
// cannot be replayed as a token.
func (c *Config) passes() (*admission.Passes, error) {
	key, err := hkdf.Key(sha256.New, []byte(c.JWTSecret), nil, "stampede passes", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of passes: %w", err)
	}
	return admission.NewPasses(key), nil
}
