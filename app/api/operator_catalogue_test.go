package api

import (
	"bytes"
	"context"
	"fmt"
	"mime/multipart"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// fakeCatalogue answers complete records and remembers what was asked of it.
type fakeCatalogue struct {
	dry  atomic.Bool
	note atomic.Pointer[string]
	edit atomic.Pointer[backoffice.ProductEdit]
	file atomic.Pointer[[]byte]
}

func someRecord() store.ProductRecord {
	return store.ProductRecord{Product: someProduct(), Version: 1, CreatedAt: 1, UpdatedAt: 2}
}

func someSaleRecord() store.SaleRecord {
	return store.SaleRecord{
		ID: 5, Slot: someSlot(), Product: someProduct(), PriceFen: 4900, Initial: 10, Limit: 1, Cap: 6, OpensAt: 1,
		ClosesAt: 2,
		Phase:    shop.Open, Challenge: shop.ChallengeNone, Version: 1, CreatedAt: 1, UpdatedAt: 2,
	}
}

func someSlot() shop.Slot { return shop.Slot{ID: 1, Phase: shop.Open, OpensAt: 1, ClosesAt: 2} }

func (f *fakeCatalogue) ProductRecords(
	context.Context, store.ProductsQuery,
) ([]store.ProductRecord, bool, error) {
	return []store.ProductRecord{someRecord()}, true, nil
}

func (f *fakeCatalogue) ProductRecord(context.Context, shop.ID) (store.ProductRecord, error) {
	return someRecord(), nil
}

func (f *fakeCatalogue) CreateProduct(
	_ context.Context, actor journal.Actor, dry bool, _ backoffice.ProductDraft,
) (store.ProductRecord, error) {
	f.dry.Store(dry)
	f.note.Store(&actor.Note)
	return someRecord(), nil
}

func (f *fakeCatalogue) EditProduct(
	_ context.Context, actor journal.Actor, dry bool, _ shop.ID, edit backoffice.ProductEdit,
) (store.ProductRecord, error) {
	f.dry.Store(dry)
	f.note.Store(&actor.Note)
	f.edit.Store(&edit)
	if edit.Version == 9 {
		return someRecord(), journal.Changed("the product", someRecord())
	}
	return someRecord(), nil
}

func (f *fakeCatalogue) SetProductImages(
	context.Context, journal.Actor, bool, shop.ID, int64, []shop.Image,
) (store.ProductRecord, error) {
	return someRecord(), nil
}

func (f *fakeCatalogue) UploadImage(
	_ context.Context, _ journal.Actor, _ bool, file []byte,
) (backoffice.UploadedImage, error) {
	kept := bytes.Clone(file)
	f.file.Store(&kept)
	id := strings.Repeat("a", 64)
	return backoffice.UploadedImage{
		ID: id, URL: "/images/" + id + ".jpg", Small: "/images/" + id +
			".small.jpg", Kind: store.ImageJPEG, Width: 1, Height: 1,
		Bytes: len(file),
	}, nil
}

func (f *fakeCatalogue) CategoryRecord(_ context.Context, id shop.ID) (store.CategoryRecord, error) {
	if id == 404 {
		return store.CategoryRecord{}, shop.Fail(shop.NotFound, "there is no category 404")
	}
	return store.CategoryRecord{Category: shop.Category{ID: id, Name: "Kitchen"}, Version: 1}, nil
}

func (f *fakeCatalogue) CategoryRecords(context.Context) ([]store.CategoryRecord, error) {
	return []store.CategoryRecord{{Category: shop.Category{ID: 3, Name: "Light"}, Version: 1}}, nil
}

func (f *fakeCatalogue) CreateCategory(
	_ context.Context, _ journal.Actor, _ bool, name string,
) (store.CategoryRecord,
	error,
) {
	return store.CategoryRecord{Category: shop.Category{ID: 3, Name: name}, Version: 1}, nil
}

func (f *fakeCatalogue) EditCategory(
	context.Context, journal.Actor, bool, shop.ID, backoffice.CategoryEdit,
) (store.CategoryRecord, error) {
	return store.CategoryRecord{Category: shop.Category{ID: 3, Name: "Light"}, Version: 2}, nil
}

func (f *fakeCatalogue) Days(from, to backoffice.Day) (shop.Millis, shop.Millis, error) {
	return (&backoffice.CatalogueDesk{Zone: time.UTC}).Days(from, to)
}

func (f *fakeCatalogue) TimeZone() string { return "Asia/Shanghai" }

func (f *fakeCatalogue) SlotCalendar(context.Context, shop.Millis, shop.Millis) ([]shop.Slot, error) {
	return []shop.Slot{someSlot()}, nil
}

func (f *fakeCatalogue) CreateSlot(context.Context, journal.Actor, bool, backoffice.SlotDraft) (shop.Slot, error) {
	return someSlot(), nil
}

func (f *fakeCatalogue) ApplyTemplate(
	_ context.Context, _ journal.Actor, dry bool, _ backoffice.SlotTemplate,
) (backoffice.SlotPlan,
	error,
) {
	return backoffice.SlotPlan{Slots: []backoffice.PlannedSlot{{
		Day: "2026-11-21", Opens: "10:00", Closes: "12:00", State: backoffice.PlanOverlaps, Says: "overlaps slot 1",
	}}, Wrong: 1, DryRun: dry}, nil
}

func (f *fakeCatalogue) RemoveSlot(context.Context, journal.Actor, bool, shop.ID) (shop.Slot, error) {
	return someSlot(), nil
}

func (f *fakeCatalogue) SaleRecords(context.Context, store.SalesQuery) ([]store.SaleRecord, bool, error) {
	return []store.SaleRecord{someSaleRecord()}, false, nil
}

func (f *fakeCatalogue) SaleRecord(context.Context, shop.ID) (store.SaleRecord, error) {
	return someSaleRecord(), nil
}

func (f *fakeCatalogue) CreateSale(
	context.Context, journal.Actor, bool, backoffice.SaleDraft,
) (store.SaleRecord, error) {
	return someSaleRecord(), nil
}

func (f *fakeCatalogue) CopySale(
	context.Context, journal.Actor, bool, shop.ID, backoffice.SaleCopy,
) (store.SaleRecord, error) {
	return someSaleRecord(), nil
}

func (f *fakeCatalogue) EditSale(
	context.Context, journal.Actor, bool, shop.ID, backoffice.SaleEdit,
) (store.SaleRecord, error) {
	return someSaleRecord(), nil
}

func (f *fakeCatalogue) ExportProducts(context.Context) ([]byte, error) {
	return []byte("id,name\n"), nil
}

func (f *fakeCatalogue) ExportSales(_ context.Context, slot shop.ID) ([]byte, error) {
	return []byte("id,slot\n5," + slot.String() + "\n"), nil
}

func (f *fakeCatalogue) ImportProducts(
	_ context.Context, _ journal.Actor, dry bool, file []byte,
) (backoffice.ImportReport,
	error,
) {
	return backoffice.ImportReport{
		Lines:    bytes.Count(file, []byte("\n")),
		Problems: []backoffice.ImportProblem{{Line: 2, Says: "no"}}, DryRun: dry,
	}, nil
}

func (f *fakeCatalogue) ImportSales(
	ctx context.Context, who journal.Actor, dry bool, file []byte,
) (backoffice.ImportReport,
	error,
) {
	return f.ImportProducts(ctx, who, dry, file)
}

type fakePictures struct{}

func (fakePictures) Picture(_ context.Context, name string) ([]byte, store.ImageKind, error) {
	if name != "a.jpg" {
		return nil, "", shop.Fail(shop.NotFound, "no such picture")
	}
	return []byte("\xff\xd8\xff"), store.ImageJPEG, nil
}

// operatorIs are the headers of an operator's act.
func operatorIs(key string) []string {
	return []string{"Authorization", "Bearer user-1", "Idempotency-Key", key}
}

// What only is tried says so to the flow, null is something else than nothing, and a conflict shows what is.
func TestCatalogueRoutes(t *testing.T) {
	t.Parallel()
	f := &fakeCatalogue{}
	s := open(t, func(o *Options) { o.Catalogue = f })
	const products = "/api/v1/operator/products"
	draft := `{"name":"Lamp","list_price_fen":100}`
	s.want(s.ask("POST", products+"?dry_run=true", draft, operatorIs("key-00001")...), 200, `"version":1`)
	if !f.dry.Load() {
		t.Error("a dry run was done")
	}
	s.want(s.ask("POST", products+"?dry_run=yes", draft, operatorIs("key-00002")...), 400,
		"dry_run must be true or false")
	s.want(s.ask("POST", products, draft, operatorIs("key-00003")...), 200, `"images":[{"url":"/a.svg"`)
	if f.dry.Load() {
		t.Error("an act was tried only")
	}
	s.want(s.ask("POST", products, draft, "Authorization", "Bearer user-1"), 400, "Idempotency-Key")
	s.want(s.ask("POST", products, draft, "Authorization", "Bearer user-42", "Idempotency-Key", "key-00004"), 403,
		"forbidden")
	s.want(s.ask("PATCH", products+"/7", `{"version":1,"category_id":null}`, operatorIs("key-00005")...), 200, "")
	if edit := f.edit.Load(); edit.CategoryID == nil || *edit.CategoryID != 0 || edit.Name != nil {
		t.Errorf("null became %+v", edit)
	}
	s.want(s.ask("PATCH", products+"/7", `{"version":1,"name":"x"}`, operatorIs("key-00006")...), 200, "")
	if edit := f.edit.Load(); edit.CategoryID != nil || *edit.Name != "x" {
		t.Errorf("nothing became %+v", edit)
	}
	s.want(s.ask("PATCH", products+"/7", `{"version":9}`, operatorIs("key-00007")...), 409, `"current":{"id":"2",`)
	for path, want := range map[string]string{
		"/slots": "from must be a day", "/slots?from=x": "cannot be read",
		"/slots?from=2026-11-21&to=2026-02-30": "cannot be read",
		"/sales?phase=soon":                    "phase must be", "/sales?slot=x": "slot", "/products?category=0": "category",
		"/products?size=1000": "size",
	} {
		s.want(s.ask("GET", "/api/v1/operator"+path, "", "Authorization", "Bearer user-1"), 400, want)
	}
	s.want(s.ask("GET", "/api/v1/operator/slots?from=2026-11-21", "", "Authorization", "Bearer user-1"), 200,
		`"zone":"Asia/Shanghai"`)
	s.want(s.ask("POST", "/api/v1/operator/slots/template",
		`{"from":"2026-11-21","to":"2026-11-21","times":[{"opens":"10:00","closes":"12:00"}],"dry_run":true}`,
		operatorIs("key-00008")...), 200, `"dry_run":true`)
}

// The note of a body, what else it says, is that of the act.
func TestNotesOfCatalogueActs(t *testing.T) {
	t.Parallel()
	f := &fakeCatalogue{}
	s := open(t, func(o *Options) { o.Catalogue = f })
	const products = "/api/v1/operator/products"
	for i, c := range []struct{ method, path, body, want string }{
		{"POST", products, `{"name":"Lamp","list_price_fen":1,"note":"for 双十一"}`, "for 双十一"},
		{"POST", products, `{"name":"Lamp","list_price_fen":1}`, ""},
		{"PATCH", products + "/7", `{"version":1,"name":"x","note":"renamed"}`, "renamed"},
		{"PATCH", products + "/7", `{"version":1,"name":"x"}`, ""},
	} {
		s.want(s.ask(c.method, c.path, c.body, operatorIs(fmt.Sprintf("key-%05d", i))...), 200, "")
		if got := *f.note.Load(); got != c.want {
			t.Errorf("%s %s: the note is %q", c.method, c.body, got)
		}
	}
	s.want(s.ask("POST", products, `{"name":"Lamp","note":7}`, operatorIs("key-00009")...), 400, "note")
}

// Files and long texts are taken from operators alone, on their routes alone, and up to a limit.
func TestLongBodiesAreOfOperators(t *testing.T) {
	t.Parallel()
	f := &fakeCatalogue{}
	s := open(t, func(o *Options) { o.Catalogue = f })
	const images = "/api/v1/operator/images"
	file := strings.Repeat("x", 1<<20)
	s.want(s.ask("POST", images, file, append(operatorIs("key-00001"), "Content-Type", "image/jpeg")...), 200,
		`"bytes":1048576`)
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("note", "first")
	part, _ := w.CreateFormFile("file", "../../etc/passwd.svg")
	_, _ = part.Write([]byte(file))
	_ = w.Close()
	s.want(s.ask("POST", images, form.String(), append(operatorIs("key-00002"), "Content-Type",
		w.FormDataContentType())...), 200, "")
	if got := *f.file.Load(); string(got) != file {
		t.Errorf("of a form came %d bytes", len(got))
	}
	tooLong := strings.Repeat("x", uploadLimit+1)
	s.want(s.ask("POST", images, tooLong, append(operatorIs("key-00003"), "Content-Type", "image/jpeg")...), 413, "8 MiB")
	// What is refused by its length is refused before it is sent.
	for name, c := range map[string]struct {
		path, token string
		length      int
	}{
		"a shopper":          {images, "user-42", bodyLimit + 1},
		"nobody":             {images, "", bodyLimit + 1},
		"far too large":      {images, "user-1", 9 << 20},
		"elsewhere":          {"/api/v1/sales/5/buy", "user-1", bodyLimit + 1},
		"of operators, long": {"/api/v1/operator/products", "user-1", operatorLimit + 1},
	} {
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n",
			c.path, c.token, c.length)
		if res, _ := s.raw(head); res.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	s.want(s.ask("POST", "/api/v1/operator/products",
		`{"name":"Lamp","list_price_fen":1,"description":"`+strings.Repeat("x", 40<<10)+`"}`,
		operatorIs("key-00004")...), 200, "")
	for kind, body := range map[string]string{
		"image/jpeg": "", "multipart/form-data": "x", "multipart/form-data; boundary=b": "x",
		"multipart/form-data; boundary=c": "--c\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nno file\r\n--c--\r\n",
		"multipart/form-data; boundary=d": "--d\r\nContent-Disposition: form-data; name=\"a\"; filename=\"b\"\r\n\r\nends",
	} {
		s.want(s.ask("POST", images, body, append(operatorIs("key-00005"), "Content-Type", kind)...), 400,
			"bad_request")
	}
}

// Tables are files that browsers save, and come back as one body or in a form.
func TestTablesAreFiles(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	me := []string{"Authorization", "Bearer user-1"}
	got := s.ask("GET", "/api/v1/operator/export/sales.csv?slot=7", "", me...)
	s.want(got, 200, "id,slot\n5,7\n")
	if kind, name := got.header.Get("Content-Type"), got.header.Get("Content-Disposition"); kind != "text/csv; charset=utf-8" ||
		name != `attachment; filename="sales.csv"` {
		t.Errorf("%s %s", kind, name)
	}
	s.want(s.ask("GET", "/api/v1/operator/export/products.csv", "", me...), 200, "id,name")
	for _, what := range []string{"products", "sales"} {
		path := "/api/v1/operator/import/" + what
		csv := append(operatorIs("key-00001"), "Content-Type", "text/csv")
		s.want(s.ask("POST", path+"?dry_run=true", "name\nPot\n", csv...), 200, `"dry_run":true`)
		s.want(s.ask("POST", path, strings.Repeat("name\n", 100_000), csv...), 200, `"lines":100000`)
		s.want(s.ask("POST", path, "", csv...), 400, "no file")
	}
}

// Pictures may be kept for ever, are what they say, and cannot be anything else.
func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	s := open(t, nil)
	got := s.ask("GET", "/images/a.jpg", "")
	s.want(got, 200, "\xff\xd8\xff")
	for name, want := range map[string]string{
		"Content-Type": "image/jpeg", "Cache-Control": "public, max-age=31536000, immutable", "Etag": `"a.jpg"`,
		"X-Content-Type-Options": "nosniff",
	} {
		if got.header.Get(name) != want {
			t.Errorf("%s is %q", name, got.header.Get(name))
		}
	}
	s.want(s.ask("GET", "/images/a.jpg", "", "If-None-Match", `"a.jpg"`), 304, "")
	for _, path := range []string{"/images/b.jpg", "/images/", "/images/..%2fa.jpg", "/images/a.jpg/x"} {
		s.want(s.ask("GET", path, ""), 404, "not_found")
	}
}
