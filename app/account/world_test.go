package account

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"stampede/app/outbox"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
	"stampede/migrations"
)

func TestMain(m *testing.M) { kit.Main(m) }

// world contains the accounts of a shop, with separate stores for each test and a clock that tests advance.
type world struct {
	*Accounts
	t      *testing.T
	ctx    context.Context
	store  *store.Store
	redis  *redis.Client
	guests *Guests
	offset atomic.Int64

	mu     sync.Mutex
	emails []outbox.Email
}

// onBoth runs a test on real and on embedded stores.
func onBoth(t *testing.T, test func(w *world)) {
	t.Helper()
	t.Parallel()
	t.Run("real", func(t *testing.T) {
		t.Parallel()
		s, err := store.OpenMySQL(kit.Context(t), kit.MySQL(t))
		kit.Must(t, err)
		options, err := redis.ParseURL(kit.Redis(t))
		kit.Must(t, err)
		test(newWorld(t, s, options))
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		s, err := store.OpenSQLite(kit.Context(t), filepath.Join(t.TempDir(), "shop.db"))
		kit.Must(t, err)
		test(newWorld(t, s, &redis.Options{Addr: miniredis.RunT(t).Addr()}))
	})
}

func newWorld(t *testing.T, s *store.Store, options *redis.Options) *world {
	t.Helper()
	t.Cleanup(func() { _ = s.Close() })
	kit.Must(t, errOf(migrations.Up(kit.Context(t), s.DB())))
	w := &world{t: t, ctx: kit.Context(t), store: s, redis: redis.NewClient(options)}
	t.Cleanup(func() { _ = w.redis.Close() })
	w.Accounts = w.node()
	w.guests = &Guests{Issuer: w.Issuer, Mint: w.Mint}
	return w
}

// node returns another node on the same stores.
func (w *world) node() *Accounts {
	w.t.Helper()
	issuer, err := NewIssuer(testKey, func() time.Time { return w.now().Time() })
	kit.Must(w.t, err)
	counters := NewCounters(w.redis)
	return &Accounts{
		Store: w.store, Mailer: w, Issuer: issuer, Hasher: newHasherWithoutBudget(), Counters: counters,
		Captchas: NewCaptchas(counters, w.now), Watch: &Watch{Store: w.store, Issuer: issuer},
		Mint: func() (shop.ID, error) { return kit.NewID(), nil }, Now: w.now, Public: "https://shop.example",
	}
}

// newHasherWithoutBudget returns a hasher without the wait for processor time. The budget counts wall-clock time, so on
// a busy machine a test with ten passwords would exceed its deadline. Other tests cover the budget.
func newHasherWithoutBudget() *Hasher {
	h := NewHasher()
	h.budget = newBudget(1e6, hashMaxBudget, time.Now)
	return h
}

func (w *world) now() shop.Millis { return shop.MillisOf(time.Now()) + shop.Millis(w.offset.Load()) }

// advance advances the clock.
func (w *world) advance(d time.Duration) { w.offset.Add(d.Milliseconds()) }

// Send collects the e-mails.
func (w *world) Send(_ context.Context, emails ...outbox.Email) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.emails = append(w.emails, emails...)
	return nil
}

// takeEmails returns and removes the e-mails to an address.
func (w *world) takeEmails(email string) (found []outbox.Email) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var rest []outbox.Email
	for _, l := range w.emails {
		if l.To == email {
			found = append(found, l)
		} else {
			rest = append(rest, l)
		}
	}
	w.emails = rest
	return found
}

// takeLinkSecret removes the only e-mail to an address and returns the secret of its link.
func (w *world) takeLinkSecret(email string, kind outbox.EmailKind) string {
	w.t.Helper()
	found := w.takeEmails(email)
	if len(found) != 1 || found[0].Kind != kind {
		w.t.Fatalf("got the e-mails %+[2]v to %[1]s; want one of kind %[3]s", email, found, kind)
	}
	_, secret, _ := strings.Cut(found[0].Link, "=")
	return secret
}

// solution returns the correct solution of a new picture.
func (w *world) solution() *CaptchaSolution {
	id := shop.ID(kit.NewID()).String() + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	id = id[len(id)-26:]
	w.Counters.putCaptcha(w.ctx, id, captchaHash(id, "123456"), captchaLife)
	return &CaptchaSolution{ID: id, Answer: "123456"}
}

func (w *world) must(err error) {
	w.t.Helper()
	kit.Must(w.t, err)
}

// wantCode requires an error with this code and returns its message.
func (w *world) wantCode(what string, err error, code shop.Code) string {
	w.t.Helper()
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != code {
		w.t.Errorf("%s: got %v, want %s", what, err, code)
		return ""
	}
	return e.Message
}

const goodPassword = "seven green 马 dance"

// newEmail returns an unused e-mail address.
func newEmail() string { return "ada." + kit.NewID().String() + "@shop.example" }

// account registers and activates a new account.
func (w *world) account() (email string) {
	w.t.Helper()
	email = newEmail()
	w.must(w.Register(w.ctx, Registration{Email: email, Password: goodPassword, Captcha: w.solution()}))
	got, err := w.activate(w.takeLinkSecret(email, outbox.EmailActivate))
	if err != nil || got != email {
		w.t.Fatalf("activate: got %q, %v, want %v", got, err, email)
	}
	return email
}

// activate activates the account of a link with goodPassword.
func (w *world) activate(link string) (email string, err error) {
	return w.Activate(w.ctx, Activation{Token: link, Password: goodPassword})
}

func (w *world) logIn(email string) Session {
	w.t.Helper()
	s, err := w.LogIn(w.ctx, LogIn{Email: email, Password: goodPassword, Device: "Test"})
	w.must(err)
	return s
}

func (w *world) identity(access string) shop.Identity {
	w.t.Helper()
	who, err := w.Issuer.Verify(access)
	w.must(err)
	return who
}

func errOf[T any](_ T, err error) error { return err }
