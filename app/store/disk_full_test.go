package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// While the disk is full, neither a picture nor its journal row is stored, and the caller gets Busy. Afterwards the
// same operation with the same key succeeds.
func TestFullDiskStoresNothing(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	ctx, d := kit.Context(t), serviceOf(s)
	d.MakeImage = func(context.Context, []byte) (store.StoredImage, error) { // as large as a real picture
		return store.StoredImage{
			ID: strings.Repeat("e", 64), Kind: store.ImageJPEG, Width: 1, Height: 1, Large: make([]byte, 1<<20),
			Small: []byte("small"),
		}, nil
	}
	must(t, errOf(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"})))
	s.DB().SetMaxOpenConns(1) // the page limit is per connection
	var pages int
	must(t, s.DB().QueryRowContext(ctx, "PRAGMA page_count").Scan(&pages))
	setMaxPages := func(limit int) {
		t.Helper()
		must(t, errOf(s.DB().ExecContext(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", limit))))
	}
	setMaxPages(pages + 8)
	actor := operator()
	if _, err := d.UploadImage(ctx, actor, nil); code(err) != shop.Busy || !errors.Is(err, shop.ErrTransient) {
		t.Errorf("an upload to a full disk: got error %v", err)
	}
	if known, err := s.Images().LockImages(ctx, []string{strings.Repeat("e", 64)}); err != nil || len(known) != 0 ||
		countJournal(t, s) != 1 {
		t.Errorf("a failed upload stored a picture or a journal row: %v, %v", known, err)
	}
	setMaxPages(1 << 20)
	shown := val(d.UploadImage(ctx, actor, nil))(t)
	again, err := d.UploadImage(ctx, actor, nil)
	if err != nil || again != shown || countJournal(t, s) != 2 {
		t.Errorf("after space was freed: got %+v, and again %+v (%v)", shown, again, err)
	}
	if report, err := s.Journal().VerifyJournal(ctx, ""); err != nil || !report.OK {
		t.Errorf("VerifyJournal: got %+v (%v), want OK", report, err)
	}
}
