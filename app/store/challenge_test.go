package store_test

import (
	"errors"
	"testing"

	"stampede/app/admission"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// The challenge of a sale can change while the sale runs. Each change raises the catalogue's version, so that nodes
// follow (I11). A change of a missing sale changes nothing.
func TestSetChallengeRaisesTheCatalogueVersion(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		h := newShop(t, s, 10)
		kinds := []shop.Challenge{
			shop.ChallengeWork, shop.ChallengeWork, shop.ChallengeCaptcha, shop.ChallengePass, shop.ChallengeNone,
		}
		for _, kind := range kinds {
			before := val(s.Catalogue().Version(h.ctx))(h.t)
			h.must(s.Sales().SetChallenge(h.ctx, h.sales[0], kind))
			sale := val(s.Sales().Sale(h.ctx, h.sales[0]))(h.t)
			if after, err := s.Catalogue().Version(h.ctx); err != nil || after <= before || sale.Challenge != kind {
				t.Errorf("challenge %s: the version was %d and is %d, the sale has the challenge %s (%v)",
					kind, before, after, sale.Challenge, err)
			}
		}
		before := val(s.Catalogue().Version(h.ctx))(h.t)
		wantErr(t, "no such sale", s.Sales().SetChallenge(h.ctx, 4242, shop.ChallengeWork), shop.ErrNoRow)
		if after, err := s.Catalogue().Version(h.ctx); err != nil || after != before {
			t.Errorf("the version was %d and is %d (%v)", before, after, err)
		}
	})
}

// The work bits stay within the limits, and are unset at first.
func TestWorkBitsStayWithinLimits(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		if bits, err := s.Settings().WorkBits(ctx); err != nil || bits != 0 {
			t.Errorf("before any setting: got %d bits (%v), want 0", bits, err)
		}
		for _, bits := range []int{admission.MinWorkBits, 18, 18, admission.MaxWorkBits} {
			must(t, s.Settings().SetWorkBits(ctx, bits))
			if got, err := s.Settings().WorkBits(ctx); err != nil || got != bits {
				t.Errorf("got %d bits, want %d (%v)", got, bits, err)
			}
		}
		for _, bits := range []int{-1, 0, admission.MaxWorkBits + 1, 256 + 16} {
			if err := s.Settings().SetWorkBits(ctx, bits); !errors.Is(err, &shop.Error{Code: shop.BadRequest}) {
				t.Errorf("SetWorkBits(%d): got error %v, want BadRequest", bits, err)
			}
		}
		if got, err := s.Settings().WorkBits(ctx); err != nil || got != admission.MaxWorkBits {
			t.Errorf("after the rejected values: got %d bits (%v)", got, err)
		}
	})
}
