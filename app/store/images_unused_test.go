package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// inAnHour returns the instant one hour from now. All pictures are older.
func inAnHour() shop.Millis { return shop.MillisOf(time.Now().Add(time.Hour)) }

// removeUnused removes unused pictures that were stored before the given instant.
func removeUnused(t *testing.T, s *store.Store, before shop.Millis) int {
	t.Helper()
	removed := val(s.Images().RemoveUnusedImages(kit.Context(t), before))(t)
	return removed
}

// pictureExists reports whether a picture is stored.
func pictureExists(t *testing.T, s *store.Store, letter string) bool {
	t.Helper()
	_, err := s.Images().ImageFile(kit.Context(t), strings.Repeat(letter, 64), store.ImageJPEG, false)
	if !errors.Is(err, shop.ErrNoRow) {
		must(t, err)
	}
	return err == nil
}

// Unused pictures are removed when they are old enough, whether they were ever used or not. Pictures of archived
// products stay. A picture that is uploaded again, or removed from a product, counts as new.
func TestUnusedPicturesAreRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		before := shop.MillisOf(time.Now().Add(-time.Hour))
		shown, old := picture(t, s, "a"), picture(t, s, "b")
		picture(t, s, "c") // never used
		made, err := d.CreateProduct(ctx, operator(),
			backoffice.ProductDraft{Name: "Pot", Images: []shop.Image{{URL: shown}, {URL: old}}})
		must(t, err)
		if n := removeUnused(t, s, before); n != 0 {
			t.Errorf("%d recent pictures were removed", n)
		}
		if n := removeUnused(t, s, inAnHour()); n != 1 || pictureExists(t, s, "c") {
			t.Errorf("%d pictures were removed, want the unused one", n)
		}
		must(t, errOf(s.DB().ExecContext(ctx, "UPDATE images SET created_at = ?", before-1)))
		must(t, errOf(d.SetProductImages(ctx, operator(), made.ID, 1, []shop.Image{{URL: shown}})))
		if n := removeUnused(t, s, before); n != 0 || !pictureExists(t, s, "b") {
			t.Errorf("%d pictures were removed, want 0: one was in use a moment ago", n)
		}
		yes := true
		must(
			t,
			errOf(d.EditProduct(ctx, operator(), made.ID, backoffice.ProductEdit{Version: 2, Archived: &yes})),
		)
		must(t, errOf(s.DB().ExecContext(ctx, "UPDATE images SET created_at = ?", before-1)))
		picture(t, s, "b")
		if n := removeUnused(t, s, before); n != 0 || !pictureExists(t, s, "b") {
			t.Errorf("%d pictures were removed, want 0: one was uploaded again a moment ago", n)
		}
		for _, want := range []int{1, 0} {
			if n := removeUnused(t, s, inAnHour()); n != want {
				t.Errorf("%d pictures were removed, want %d", n, want)
			}
		}
		if !pictureExists(t, s, "a") || pictureExists(t, s, "b") {
			t.Error("the picture of an archived product was removed, or an unused one was kept")
		}
		picture(t, s, "b")
		if !pictureExists(t, s, "b") {
			t.Error("a picture that was removed cannot be uploaded again")
		}
	})
}

// Pictures in the description of a product stay, in any language and size.
func TestPicturesOfDescriptionsStay(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		large, small := picture(t, s, "a"), strings.Replace(picture(t, s, "b"), ".jpg", ".small.jpg", 1)
		picture(t, s, "c") // never used
		must(t, errOf(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{
			Name: "Pot", Description: `<img src="` + large + `">`,
			Texts: map[string]shop.ProductText{"zh": {Description: `<p><img src="` + small + `"></p>`}},
		})))
		if n := removeUnused(t, s, inAnHour()); n != 1 || !pictureExists(t, s, "a") || !pictureExists(t, s, "b") {
			t.Errorf("%d pictures were removed, want the unused one", n)
		}
	})
}

// pauseHook is a query hook. A query blocks after it has run, if its context has a pause and the query contains the
// text of the pause.
type pauseHook struct{}

type pause struct {
	text             string
	once             sync.Once
	reached, release chan struct{}
}

func pauseAfter(ctx context.Context, text string) (context.Context, *pause) {
	p := &pause{text: text, reached: make(chan struct{}), release: make(chan struct{})}
	return context.WithValue(ctx, pauseHook{}, p), p
}

func (pauseHook) BeforeQuery(ctx context.Context, _ *bun.QueryEvent) context.Context { return ctx }

func (pauseHook) AfterQuery(ctx context.Context, q *bun.QueryEvent) {
	if p, ok := ctx.Value(pauseHook{}).(*pause); ok && strings.Contains(q.Query, p.text) {
		p.once.Do(func() {
			close(p.reached)
			<-p.release
		})
	}
}

// waitForPictureLock returns once a statement waits for the lock of a picture's row, which another transaction holds.
// On SQLite writers wait before they begin, so there is no such statement.
func waitForPictureLock(t *testing.T, s *store.Store, id string) {
	t.Helper()
	if s.DB().Dialect().Name() == dialect.SQLite {
		return
	}
	kit.Eventually(t, time.Minute, func() (bool, string) {
		var n int
		err := s.DB().QueryRowContext(kit.Context(t), "SELECT COUNT(*) FROM information_schema.processlist"+
			" WHERE id <> CONNECTION_ID() AND info LIKE ?", "%"+id+"%FOR UPDATE%").Scan(&n)
		return err == nil && n > 0, fmt.Sprint("no transaction is waiting for the lock: ", n, err)
	})
}

// A picture is added to a product during its removal. If the edit of the product commits first, the picture stays. If
// the removal commits first, the edit is rejected. No product ever shows a missing picture.
func TestPictureInUseIsNeverRemoved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		s.HookQueries(pauseHook{})
		made := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"}))(t)
		addPicture := func(ctx context.Context, version int64, url string) error {
			_, err := d.SetProductImages(ctx, operator(), made.ID, version, []shop.Image{{URL: url}})
			return err
		}
		type removal struct {
			n   int
			err error
		}
		remove := func(ctx context.Context) <-chan removal {
			done := make(chan removal, 1)
			go func() {
				n, err := s.Images().RemoveUnusedImages(ctx, inAnHour())
				done <- removal{n, err}
			}()
			return done
		}

		letter := "a"
		url := picture(t, s, letter)
		addCtx, p := pauseAfter(ctx, url) // only the query that adds the picture contains its URL
		addResult := make(chan error, 1)
		go func() { addResult <- addPicture(addCtx, 1, url) }()
		<-p.reached // written, not committed
		removed := remove(ctx)
		waitForPictureLock(t, s, strings.Repeat(letter, 64))
		close(p.release)
		must(t, <-addResult)
		if got := <-removed; got.err != nil || got.n != 0 || !pictureExists(t, s, letter) {
			t.Errorf("product edited first: %d pictures were removed (%v), want 0", got.n, got.err)
		}

		letter = "b"
		url = picture(t, s, letter)
		removeCtx, p := pauseAfter(ctx, "DELETE FROM images")
		removed = remove(removeCtx)
		<-p.reached // deleted, not committed
		go func() { addResult <- addPicture(ctx, 2, url) }()
		waitForPictureLock(t, s, strings.Repeat(letter, 64))
		close(p.release)
		if got := <-removed; got.err != nil || got.n != 1 || pictureExists(t, s, letter) {
			t.Errorf("picture removed first: %d pictures were removed (%v), want 1", got.n, got.err)
		}
		if err := <-addResult; code(err) != shop.BadRequest || !strings.Contains(err.Error(), "upload it first") {
			t.Errorf("a removed picture was assigned: %v", err)
		}
		if p, err := d.ProductRecord(ctx, made.ID); err != nil || p.Version != 2 || len(p.Images) != 1 {
			t.Errorf("the product is %+v, %v", p, err)
		}
	})
}
