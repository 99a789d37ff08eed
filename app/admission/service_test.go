package admission

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"stampede/app/catalog"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// passWorld contains the sales that a test sets. The solution of its captchas is their ID, and each is checked once.
type passWorld struct {
	catalog.CatalogueStore
	catalog.SaleStore
	sales map[shop.ID]shop.Sale
	bits  int
	err   error

	unchecked map[string]bool
	clients   []PictureClient // in the order of their pictures
}

func (w *passWorld) Sale(_ context.Context, id shop.ID) (shop.Sale, error) {
	s, ok := w.sales[id]
	if !ok {
		return shop.Sale{}, shop.ErrNoRow
	}
	return s, nil
}

func (w *passWorld) WorkBits(context.Context) (int, error) { return w.bits, w.err }

func (w *passWorld) New(_ context.Context, client PictureClient) (id, image string, until shop.Millis, err error) {
	w.clients = append(w.clients, client)
	id = fmt.Sprintf("picture%d", len(w.unchecked))
	w.unchecked[id] = true
	return id, "data:image/png;base64,AAAA", shop.MillisOf(time.Now().Add(time.Minute)), w.err
}

func (w *passWorld) Check(_ context.Context, id, answer string) (bool, error) {
	unchecked := w.unchecked[id]
	w.unchecked[id] = false
	return unchecked && answer == id, w.err
}

// newPassWorld returns open sales of each kind (1 to 4), one that opens in ten minutes (5), and one that is closed (6).
func newPassWorld() (*passWorld, *PassService) {
	now := shop.MillisOf(time.Now())
	w := &passWorld{sales: make(map[shop.ID]shop.Sale), unchecked: make(map[string]bool), bits: 4}
	for i, kind := range []shop.Challenge{
		shop.ChallengeNone, shop.ChallengePass, shop.ChallengeCaptcha, shop.ChallengeWork, shop.ChallengePass,
		shop.ChallengePass,
	} {
		id := shop.ID(i + 1)
		w.sales[id] = shop.Sale{ID: id, Challenge: kind, OpensAt: now.Add(-time.Minute), ClosesAt: now.Add(time.Hour)}
	}
	early, closed := w.sales[5], w.sales[6]
	early.OpensAt, closed.ClosesAt = now.Add(10*time.Minute), now.Add(-time.Second)
	w.sales[5], w.sales[6] = early, closed
	return w, &PassService{
		Catalogue: catalog.NewCatalogue(w, w, nil, time.UTC), Clock: shop.NewClock(), Passes: testPasses, Captcha: w,
		WorkBits: w.WorkBits,
	}
}

func wantCode(t *testing.T, what string, err error, want shop.Code) *shop.Error {
	t.Helper()
	var e *shop.Error
	if !errors.As(err, &e) || e.Code != want {
		t.Fatalf("%s: got %v, want %s", what, err, want)
	}
	return e
}

// A request that is too early, too late, without a sale, or for a sale without a pass gets the matching error.
func TestPassRequestsOutsideSaleAreRejected(t *testing.T) {
	t.Parallel()
	_, s := newPassWorld()
	requestPass := func(sale shop.ID) error {
		_, err := s.RequestPass(t.Context(), PassRequest{User: 42, Sale: sale})
		_, solving := s.SolvePass(t.Context(), PassRequest{User: 42, Sale: sale, Task: "x", Answer: "1"})
		if shop.AsError(err).Code != shop.AsError(solving).Code {
			t.Errorf("sale %d: RequestPass returned %v, SolvePass returned %v; want the same code", sale, err, solving)
		}
		return err
	}
	wantCode(t, "a sale without passes", requestPass(1), shop.WrongState)
	wantCode(t, "a closed sale", requestPass(6), shop.Closed)
	wantCode(t, "an unknown sale", requestPass(77), shop.NotFound)
	wantCode(t, "a request without a sale", requestPass(0), shop.BadRequest)
	e := wantCode(t, "a sale that opens in ten minutes", requestPass(5), shop.NotOpen)
	if wait := time.Duration(e.RetryMS) * time.Millisecond; wait > 9*time.Minute || wait < 8*time.Minute {
		t.Errorf("got retry_ms %v, want the time until 1 min before the opening", wait)
	}
}

// A picture can be solved once, by the user and for the sale of its request. Repeated wrong solutions are rate limited.
func TestCaptchaSolutionIsBoundAndValidOnce(t *testing.T) {
	t.Parallel()
	w, s := newPassWorld()
	other := w.sales[3]
	other.ID = 7
	w.sales[7] = other
	picture := func(user shop.ID) *Task {
		t.Helper()
		a, err := s.RequestPass(t.Context(), PassRequest{User: user, Sale: 3})
		if err != nil || a.Task == nil || a.Task.Kind != shop.ChallengeCaptcha || a.Task.Image == "" || a.Pass != "" {
			t.Fatalf("got %+v, %v, want a captcha task", a, err)
		}
		return a.Task
	}
	solve := func(user, sale shop.ID, task, answer string) (PassResult, error) {
		return s.SolvePass(t.Context(), PassRequest{User: user, Sale: sale, Task: task, Answer: answer})
	}
	task := picture(42)
	correct := task.ID[:len("picture0")]
	for name, attempt := range map[string]func() (PassResult, error){
		"another user":             func() (PassResult, error) { return solve(43, 3, task.ID, correct) },
		"another sale":             func() (PassResult, error) { return solve(42, 7, task.ID, correct) },
		"an id without a seal":     func() (PassResult, error) { return solve(42, 3, correct, correct) },
		"the seal of another user": func() (PassResult, error) { return solve(44, 3, correct+picture(45).ID[len(correct):], correct) },
		"an empty solution":        func() (PassResult, error) { return solve(46, 3, "", "") },
	} {
		a, err := attempt()
		wantCode(t, name, err, shop.CaptchaRequired)
		if a.Pass != "" {
			t.Errorf("%s: got a pass, want none", name)
		}
	}
	a, err := solve(42, 3, task.ID, correct)
	if err != nil || testPasses.Issued(a.Pass, 3, 42, s.Clock.Now()) == 0 {
		t.Fatalf("correct solution: got %+v, %v, want a pass", a, err)
	}
	_, err = solve(42, 3, task.ID, correct)
	wantCode(t, "a repeated solution", err, shop.CaptchaRequired)

	for range maxWrongSolutions {
		_, err = solve(50, 3, picture(50).ID, "wrong")
		wantCode(t, "a wrong solution", err, shop.CaptchaRequired)
	}
	_, err = s.RequestPass(t.Context(), PassRequest{User: 50, Sale: 3})
	if e := wantCode(t, "a request after five wrong solutions", err, shop.RateLimited); e.RetryMS <= 0 || e.RetryMS > 60_000 {
		t.Errorf("got retry_ms %d, want 1 to 60,000", e.RetryMS)
	}
	_, err = solve(50, 3, task.ID, correct)
	wantCode(t, "a solution after five wrong solutions", err, shop.RateLimited)
	for range maxPictures {
		picture(51)
	}
	_, err = s.RequestPass(t.Context(), PassRequest{User: 51, Sale: 3})
	wantCode(t, "the eleventh captcha", err, shop.RateLimited)
	picture(52) // other users are not affected

	w.err = shop.ErrTransient
	_, err = s.RequestPass(t.Context(), PassRequest{User: 53, Sale: 3})
	wantCode(t, "an unavailable captcha service", err, shop.Busy)
}

// The captcha service receives the client's address and the user's number of pictures without a solution. It uses them
// when its budget for drawing is low.
func TestCaptchaServiceReceivesUnsolvedCount(t *testing.T) {
	t.Parallel()
	w, s := newPassWorld()
	from := netip.MustParseAddr("192.0.2.7")
	requestPass := func() (task string) {
		t.Helper()
		a, err := s.RequestPass(t.Context(), PassRequest{User: 42, Sale: 3, From: from})
		fakes.Must(t, err)
		return a.Task.ID
	}
	answer := func(task, solution string) {
		_, _ = s.SolvePass(t.Context(), PassRequest{User: 42, Sale: 3, Task: task, Answer: solution})
	}
	first := requestPass()
	second := requestPass()
	answer(first, "wrong")
	answer(second, "picture1")
	requestPass()
	requestPass()
	for i, unsolved := range []int{0, 1, 0, 1} {
		if want := (PictureClient{From: from, Unsolved: unsolved}); w.clients[i] != want {
			t.Errorf("captcha %d: got the client %+v, want %+v", i, w.clients[i], want)
		}
	}
}

// The newest difficulty setting applies. An address with too many requests gets a harder task instead of a rejection,
// even if the sale requires no task.
func TestDifficultyFollowsSettingAndPressure(t *testing.T) {
	t.Parallel()
	w, s := newPassWorld()
	workBits := func(sale shop.ID, from netip.Addr) int {
		t.Helper()
		a, err := s.RequestPass(t.Context(), PassRequest{User: 42, Sale: sale, From: from})
		if err != nil || (a.Task != nil) != (a.Pass == "") {
			t.Fatalf("got %+v, %v, want either a pass or a task", a, err)
		}
		if a.Task == nil {
			return 0
		}
		return a.Task.Bits
	}
	normalAddr, busyAddr := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	if bits := workBits(4, normalAddr); bits != DefaultWorkBits {
		t.Errorf("got %d bits before the setting was read, want the default", bits)
	}
	for _, bits := range []int{4, 9} {
		w.bits = bits
		if err := s.RunOnce(t.Context()); err != nil || workBits(4, normalAddr) != bits {
			t.Errorf("got %d bits, want %d (%v)", workBits(4, normalAddr), bits, err)
		}
	}
	w.err = shop.ErrTransient
	if err := s.RunOnce(t.Context()); err == nil || workBits(4, normalAddr) != 9 {
		t.Errorf("got %d bits and error %v while the database is unreachable, want 9 bits and an error", workBits(4, normalAddr), err)
	}
	for range 2 * maxRequestsWithoutAddedBits {
		workBits(2, busyAddr)
	}
	if bits := workBits(2, busyAddr); bits <= 9 {
		t.Errorf("an address with too many requests: got %d bits, want more than 9", bits)
	}
	if bits := workBits(2, normalAddr); bits != 0 {
		t.Errorf("another address: got %d bits, want 0", bits)
	}
	w.bits, w.err = MaxWorkBits, nil
	if err := s.RunOnce(t.Context()); err != nil || workBits(4, busyAddr) != MaxWorkBits {
		t.Errorf("got %d bits, want %d (%v)", workBits(4, busyAddr), MaxWorkBits, err)
	}
}
