package store_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

const userNow shop.Millis = 1_800_000_000_000

// newUser returns an active account with a unique email.
func newUser() shop.User {
	id := nextID()
	return shop.User{
		ID: id, Email: id.String() + "@shop.example", Name: "王小明 🐴", Role: shop.Shopper, Password: "$argon2id$1",
		Lang: "zh", State: shop.UserActive, CreatedAt: userNow, ActivatedAt: userNow + 1,
	}
}

func pendingUser() (shop.User, shop.MailToken) {
	u := newUser()
	u.State, u.ActivatedAt = shop.UserPending, 0
	return u, tokenOf(u.ID, shop.TokenActivate)
}

func tokenOf(user shop.ID, kind shop.MailTokenKind) shop.MailToken {
	return shop.MailToken{Hash: hash(nextID().String()), User: user, Kind: kind, ExpiresAt: userNow + 3_600_000}
}

// hash returns a text with the length of a hash.
func hash(text string) string { return strings.Repeat("0", 64-len(text)) + text }

func newDevice(user shop.ID) shop.Device {
	id := nextID()
	return shop.Device{
		ID: id, User: user, Name: "Firefox", RefreshHash: hash(id.String()), RotatedAt: userNow, CreatedAt: userNow,
		LastSeenAt: userNow, ExpiresAt: userNow + 3_600_000,
	}
}

func TestUserIsReadAsWritten(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, u := kit.Context(t), newUser()
		for range 2 { // the second time as after a lost reply
			must(t, s.Accounts().AddUser(ctx, u))
		}
		byID, errID := s.Accounts().UserByID(ctx, u.ID)
		byEmail, errEmail := s.Accounts().UserByEmail(ctx, u.Email)
		must(t, errors.Join(errID, errEmail))
		wantEqual(t, "(-want +got)", []shop.User{u, u}, []shop.User{byID, byEmail})
		other := newUser()
		other.Email = u.Email
		wantErr(t, "another account with the e-mail", s.Accounts().AddUser(ctx, other), shop.ErrTaken)
		wantErr(t, "read an unknown user", errOf(s.Accounts().UserByID(ctx, other.ID)), shop.ErrNoRow)
		must(t, errors.Join(
			s.Accounts().EditUser(ctx, u.ID, new("Ada"), nil), s.Accounts().EditUser(ctx, u.ID, nil, new("en"))))
		wantErr(t, "edit an unknown user", s.Accounts().EditUser(ctx, other.ID, new("Ada"), nil), shop.ErrNoRow)
		if got, err := s.Accounts().UserByID(ctx, u.ID); err != nil || got.Name != "Ada" || got.Lang != "en" {
			t.Errorf("EditUser: got %+v (%v), want the new name and language", got, err)
		}
	})
}

// A registration replaces pending ones of the same email, but never an account.
func TestRegisterReplacesOnlyPendingUsers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		first, firstToken := pendingUser()
		must(t, s.Accounts().Register(ctx, first, firstToken))
		sameEmail, secondToken := pendingUser()
		sameEmail.Email = first.Email
		must(t, s.Accounts().Register(ctx, sameEmail, secondToken))
		wantErr(t, "the older registration is still there", errOf(s.Accounts().UserByID(ctx, first.ID)), shop.ErrNoRow)
		wantErr(t, "the older link", errOf(s.Accounts().Activate(ctx, firstToken.Hash, first.Password, userNow)), shop.ErrNoRow)
		wantErr(t, "another password", errOf(s.Accounts().Activate(ctx, secondToken.Hash, "$other", userNow)), shop.ErrNoRow)
		got := val(s.Accounts().Activate(ctx, secondToken.Hash, sameEmail.Password, userNow+5))(t)
		sameEmail.State, sameEmail.ActivatedAt = shop.UserActive, userNow+5
		wantEqual(t, "(-want +got)", sameEmail, got)
		late, lateToken := pendingUser()
		late.Email = sameEmail.Email
		wantErr(t, "register with the e-mail of an account", s.Accounts().Register(ctx, late, lateToken), shop.ErrTaken)
	})
}

// A link can be used once, only for its purpose and until it expires. Only an activation can be repeated for its reply.
func TestMailTokenWorksOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		u, activate := pendingUser()
		must(t, s.Accounts().Register(ctx, u, activate))
		wantNoRow := func(label string, err error) {
			t.Helper()
			wantErr(t, label, err, shop.ErrNoRow)
		}
		wantNoRow("an expired link", errOf(s.Accounts().Activate(ctx, activate.Hash, u.Password, activate.ExpiresAt)))
		wantNoRow("a link for something else", errOf(s.Accounts().Reset(ctx, activate.Hash, "$new", userNow)))
		wantNoRow("an invented link", errOf(s.Accounts().Activate(ctx, hash("77"), u.Password, userNow)))
		var g errgroup.Group
		for range 4 { // users and their mail programs open links at the same moment
			g.Go(func() error { _, err := s.Accounts().Activate(ctx, activate.Hash, u.Password, userNow); return err })
		}
		must(t, g.Wait())
		wantNoRow("a link that was used", errOf(s.Accounts().Activate(ctx, activate.Hash, u.Password, userNow.Add(time.Hour/2))))

		d := newDevice(u.ID)
		u.State = shop.UserActive
		must(t, s.Sessions().AddDevice(ctx, d, &u))
		reset, second := tokenOf(u.ID, shop.TokenReset), tokenOf(u.ID, shop.TokenReset)
		must(t, errors.Join(s.Accounts().AddMailToken(ctx, reset, &u), s.Accounts().AddMailToken(ctx, second, &u)))
		got, err := s.Accounts().Reset(ctx, reset.Hash, "$new", userNow)
		if err != nil || got.Password != "$new" {
			t.Fatalf("Reset: got %+v (%v), want the new password", got, err)
		}
		wantNoRow("a reset link that was used", errOf(s.Accounts().Reset(ctx, reset.Hash, "$newer", userNow)))
		wantNoRow("a link that a later request has used", errOf(s.Accounts().Reset(ctx, reset.Hash, "$newer", userNow-1)))
		wantNoRow("the other link after a reset", errOf(s.Accounts().Reset(ctx, second.Hash, "$newer", userNow)))
		if live, err := s.Sessions().DevicesOf(ctx, u.ID, userNow); err != nil || len(live) != 0 {
			t.Errorf("after the reset: got devices %+v (%v), want none", live, err)
		}
	})
}

func TestOnlyTheNewestMailTokensRemain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, u := kit.Context(t), newUser()
		must(t, s.Accounts().AddUser(ctx, u))
		var tokens []shop.MailToken
		for i := range shop.Millis(5) {
			token := tokenOf(u.ID, shop.TokenReset)
			token.ExpiresAt += i
			must(t, s.Accounts().AddMailToken(ctx, token, &u))
			tokens = append(tokens, token)
		}
		former := u
		former.Email = "former@shop.example"
		err := s.Accounts().AddMailToken(ctx, tokenOf(u.ID, shop.TokenReset), &former)
		wantErr(t, "a link for a former e-mail", err, shop.ErrNoRow)
		wantErr(t, "Reset with the second of five links", errOf(s.Accounts().Reset(ctx, tokens[1].Hash, "$new", userNow)), shop.ErrNoRow)
		if _, err := s.Accounts().Reset(ctx, tokens[2].Hash, "$new", userNow); err != nil {
			t.Errorf("Reset with the third of five links: got error %v", err)
		}
	})
}

// Of several concurrent requests with one refresh token, one succeeds.
func TestRefreshTokenRotatesOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, u := kit.Context(t), newUser()
		d := newDevice(u.ID)
		must(t, errors.Join(s.Accounts().AddUser(ctx, u), s.Sessions().AddDevice(ctx, d, &u)))
		old := d.RefreshHash
		rotated := make(chan bool, 4)
		var g errgroup.Group
		for i := range 4 {
			next := d
			next.RefreshHash, next.RotatedAt, next.LastSeenAt = hash(shop.ID(9000+i).String()), userNow+1, userNow+1
			next.ExpiresAt, next.PreviousHash = d.ExpiresAt+1, old
			g.Go(func() error {
				ok, err := s.Sessions().RotateDevice(ctx, next, old)
				rotated <- ok
				return err
			})
		}
		must(t, g.Wait())
		close(rotated)
		n := 0
		for ok := range rotated {
			if ok {
				n++
			}
		}
		got, err := s.Sessions().Device(ctx, d.ID)
		if err != nil || n != 1 || got.PreviousHash != old || got.ExpiresAt != d.ExpiresAt+1 {
			t.Errorf("got %d successful rotations and the device %+v (%v), want one", n, got, err)
		}
		for _, want := range []bool{true, false} {
			if ok, err := s.Sessions().ReissueDevice(ctx, d.ID, old); ok != want || err != nil {
				t.Errorf("ReissueDevice: got %v (%v), want %v", ok, err, want)
			}
		}
		next := got
		next.RotatedAt = got.ExpiresAt
		if ok, err := s.Sessions().RotateDevice(ctx, next, got.RefreshHash); ok || err != nil {
			t.Errorf("RotateDevice after the expiry: got %v (%v), want false", ok, err)
		}
		must(t, s.Sessions().RevokeDevice(ctx, d.User, d.ID))
		next.RotatedAt = userNow + 2
		if ok, err := s.Sessions().RotateDevice(ctx, next, got.RefreshHash); ok || err != nil {
			t.Errorf("RotateDevice after the revocation: got %v (%v), want false", ok, err)
		}
	})
}

// Revoking devices also revokes their access tokens in the same transaction, and no others.
func TestRevokingDevicesRevokesTheirTokens(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, u := kit.Context(t), newUser()
		must(t, s.Accounts().AddUser(ctx, u))
		var devices []shop.Device
		for range 5 {
			d := newDevice(u.ID)
			must(t, s.Sessions().AddDevice(ctx, d, &u))
			devices = append(devices, d)
		}
		otherUser := newUser()
		foreign := newDevice(otherUser.ID)
		must(t, errors.Join(s.Accounts().AddUser(ctx, otherUser), s.Sessions().AddDevice(ctx, foreign, &otherUser)))
		wantRevoked := func(label string, want ...shop.Device) {
			t.Helper()
			found, err := s.Sessions().Revocations(ctx, 0)
			if err != nil || len(found.Subjects) != len(want) {
				t.Fatalf("%s: got revocations %+v (%v), want %d", label, found, err, len(want))
			}
			revoked := map[shop.ID]bool{}
			for _, r := range found.Subjects {
				revoked[r.Subject] = true
				life := r.Until.Sub(found.Now)
				if life < shop.AccessLife-time.Minute || life > shop.AccessLife+2*time.Minute {
					t.Errorf("%s: the revocation lasts %v, want about AccessLife", label, life)
				}
			}
			for _, d := range want {
				if !revoked[d.ID] {
					t.Errorf("%s: device %s is not revoked", label, d.ID)
				}
			}
		}
		wantErr(t, "revoke a stranger's device", s.Sessions().RevokeDevice(ctx, foreign.User, devices[0].ID), shop.ErrNoRow)
		for range 2 {
			must(t, s.Sessions().RevokeDevice(ctx, u.ID, devices[0].ID))
		}
		wantRevoked("one", devices[0])
		wantErr(t, "a password that was changed meanwhile",
			s.Accounts().SetPassword(ctx, u.ID, "$other", "$new", devices[1].ID), shop.ErrNoRow)
		wantRevoked("nothing changed", devices[0])
		must(t, s.Accounts().SetPassword(ctx, u.ID, u.Password, "$new", devices[1].ID))
		wantRevoked("all but one", devices[0], devices[2], devices[3], devices[4])
		must(t, s.Accounts().SetRole(ctx, u.ID, shop.Shopper))
		wantRevoked("the same role", devices[0], devices[2], devices[3], devices[4])
		must(t, s.Accounts().SetRole(ctx, u.ID, shop.Operator))
		wantRevoked("another role", devices...)
		if got, err := s.Accounts().UserByID(ctx, u.ID); err != nil || got.Role != shop.Operator {
			t.Errorf("got role %v (%v), want %v", got.Role, err, shop.Operator)
		}
		if live, err := s.Sessions().DevicesOf(ctx, foreign.User, userNow); err != nil || len(live) != 1 {
			t.Errorf("got devices of another user %v (%v), want one", live, err)
		}
	})
}

func TestOnlyTheNewestDevicesRemain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, u := kit.Context(t), newUser()
		must(t, s.Accounts().AddUser(ctx, u))
		for i := range shop.Millis(22) {
			d := newDevice(u.ID)
			d.LastSeenAt += i
			must(t, s.Sessions().AddDevice(ctx, d, &u))
		}
		live, err := s.Sessions().DevicesOf(ctx, u.ID, userNow)
		if err != nil || len(live) != 20 || live[0].LastSeenAt != userNow+21 || live[19].LastSeenAt != userNow+2 {
			t.Errorf("got %d devices (%v), want the 20 newest", len(live), err)
		}
	})
}

func TestRevocationsReturnsOnlyNewSubjects(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		start, err := s.Sessions().Revocations(ctx, 0)
		must(t, err)
		later := start.Now.Add(time.Hour)
		for range 2 {
			must(t, s.Sessions().Revoke(ctx, []shop.ID{9, 8}, later))
		}
		err = errors.Join(
			s.Sessions().Revoke(ctx, []shop.ID{8}, later-9), s.Sessions().Revoke(ctx, []shop.ID{7}, start.Now-1))
		must(t, err)
		got, err := s.Sessions().Revocations(ctx, start.Now)
		want := []shop.Revocation{{Subject: 8, Until: later}, {Subject: 9, Until: later}}
		if diff := cmp.Diff(want, got.Subjects); diff != "" || err != nil {
			t.Error(diff, err)
		}
		if got, err := s.Sessions().Revocations(ctx, got.Now.Add(time.Minute)); err != nil || len(got.Subjects) != 0 {
			t.Errorf("revocations of the next minute: got %+v (%v), want none", got, err)
		}
	})
}

// Of several concurrent key rotations one succeeds; the others return ErrNoRow.
func TestOneOfConcurrentKeyRotationsSucceeds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		if k, err := s.Sessions().KeyGeneration(ctx); err != nil || k != (shop.KeyGeneration{}) {
			t.Fatalf("before the first rotation: got %+v (%v), want generation 0", k, err)
		}
		results := make(chan error, 3)
		for range cap(results) {
			go func() { _, err := s.Sessions().RotateKey(ctx, 0, false); results <- err }()
		}
		done := 0
		for range cap(results) {
			switch err := <-results; {
			case err == nil:
				done++
			case !errors.Is(err, shop.ErrNoRow):
				t.Error(err)
			}
		}
		k, err := s.Sessions().KeyGeneration(ctx)
		if err != nil || done != 1 || k.Number != 1 || k.Oldest != 0 || k.Since == 0 {
			t.Errorf("got %d successful rotations and the generation %+v (%v), want one and generation 1", done, k, err)
		}
		now, err := s.Sessions().RotateKey(ctx, 1, true)
		if err != nil || now.Number != 2 || now.Oldest != 2 || k.Salt != "" || len(now.Salt) < 26 {
			t.Errorf("rotation that invalidates older tokens: got %+v (%v)", now, err)
		}
		if k, err := s.Sessions().RotateKey(ctx, 2, false); err != nil || k.Oldest != 2 || k.Salt != now.Salt {
			t.Errorf("the next rotation: got %+v (%v), want the same oldest generation and salt", k, err)
		}
	})
}

// Of two concurrent changes that would remove the last two admins, one is rejected. Admins who cannot log in do not
// count.
func TestLastAdminStays(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		admin := func(change func(u *shop.User)) shop.ID {
			u := newUser()
			u.Role = shop.Admin
			if change != nil {
				change(&u)
			}
			must(t, s.Accounts().AddUser(ctx, u))
			return u.ID
		}
		admin(func(u *shop.User) { u.State, u.ActivatedAt = shop.UserPending, 0 })
		admin(func(u *shop.User) { u.Password = "" })
		blocked, last := admin(nil), admin(nil)
		block := func(id shop.ID) error {
			return errOf(s.Blocks().AddBlock(ctx, store.Block{Kind: store.BlockUser, Value: id.String()}, 0))
		}
		must(t, block(blocked))
		changes := map[string]func(id shop.ID) error{
			"role":     func(id shop.ID) error { return s.Accounts().SetRole(ctx, id, shop.Operator) },
			"block":    block,
			"deletion": func(id shop.ID) error { return s.PersonalData().Erase(ctx, id, nil, userNow, userNow) },
		}
		rejected := &shop.Error{Code: shop.WrongState}
		for name, change := range changes {
			wantErr(t, name+" of the last admin", change(last), rejected)
		}
		for name, change := range changes {
			for range 5 {
				pair := []shop.ID{last, admin(nil)}
				errs := make([]error, len(pair))
				var g errgroup.Group
				for i, id := range pair {
					g.Go(func() error {
						errs[i] = change(id)
						return nil
					})
				}
				must(t, g.Wait())
				if (errs[0] == nil) == (errs[1] == nil) || !errors.Is(errors.Join(errs...), rejected) {
					t.Fatalf("%s of both admins: got %v, want one rejection", name, errs)
				}
				if last = pair[0]; errs[0] == nil {
					last = pair[1]
				}
			}
		}
		must(t, s.Accounts().SetRole(ctx, blocked, shop.Shopper))
	})
}
