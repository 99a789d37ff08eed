package store_test

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// catalogueService has all operations on the catalogue.
type catalogueService struct {
	*backoffice.CatalogueService
	backoffice.Products
	backoffice.Schedule
}

// serviceOf returns a catalogue service whose clock is fixed at noon of a day in 2026.
func serviceOf(s *store.Store) *catalogueService {
	c := &backoffice.CatalogueService{
		Store: s, Mint: func() (shop.ID, error) { return nextID(), nil },
		Clean: func(html string) (string, []string) { return strings.ReplaceAll(html, "<script>", ""), nil },
		Now:   func() shop.Millis { return noon }, Zone: time.UTC,
	}
	return &catalogueService{c, c.Products(), c.Schedule()}
}

var noon = shop.MillisOf(time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC))

var operationKeys atomic.Int64

// operator returns an actor with a new key.
func operator() journal.Actor {
	return journal.Actor{
		User: 7, Name: "Ada", Role: shop.Operator, Via: journal.ViaHTTP, From: "192.0.2.1",
		Key: fmt.Sprintf("key-%08d", operationKeys.Add(1)), Hash: strings.Repeat("a", 64),
	}
}

// dryRun makes the actor's operation a dry run.
func dryRun(actor journal.Actor) journal.Actor {
	actor.DryRun = true
	return actor
}

func code(err error) shop.Code {
	if err == nil {
		return ""
	}
	return shop.AsError(err).Code
}

// countJournal counts the rows of the journal.
func countJournal(t *testing.T, s *store.Store) int {
	t.Helper()
	rows := val(s.Journal().JournalFrom(kit.Context(t), 1, 1000))(t)
	return len(rows)
}

func picture(t *testing.T, s *store.Store, letter string) string {
	t.Helper()
	image := store.StoredImage{
		ID: strings.Repeat(letter, 64), Kind: store.ImageJPEG, Width: 3, Height: 2, Large: []byte("large"),
		Small: []byte("small"),
	}
	must(t, s.Images().SaveImage(kit.Context(t), &image))
	return "/images/" + image.ID + ".jpg"
}

// A product needs a delivery address unless its draft has ships = false.
func TestProductShipsByDefault(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		pot := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"}))(t)
		voucher := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Voucher", Ships: new(bool)}))(t)
		if !pot.Ships || voucher.Ships {
			t.Errorf("got ships %v by default and %v for no, want true and false", pot.Ships, voucher.Ships)
		}
	})
}

// A product is created, shown, edited under its version, illustrated, archived and restored. Each step writes a journal
// row, and the catalogue follows.
func TestProductChangesAreVersionedAndJournalled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		tea := val(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: " Tea "}))(t)
		made, err := d.CreateProduct(ctx, operator(), backoffice.ProductDraft{
			Name: "Pot 壶", CategoryID: tea.ID, ListPriceFen: 9900, Description: "<p>A pot</p><script>",
			Rules:  "one\neach",
			Images: []shop.Image{{URL: picture(t, s, "a"), Alt: "A pot"}},
		})
		must(t, err)
		if made.Version != 1 || made.Category != "Tea" || made.Description != "<p>A pot</p>" || len(made.Images) != 1 {
			t.Errorf("CreateProduct: got %+v", made)
		}
		name, none := "Blue pot", shop.ID(0)
		edited, err := d.EditProduct(ctx, operator(), made.ID,
			backoffice.ProductEdit{Version: 1, Name: &name, CategoryID: &none})
		must(t, err)
		if edited.Version != 2 || edited.Name != name || edited.CategoryID != 0 || edited.ListPriceFen != 9900 {
			t.Errorf("EditProduct: got %+v, want version 2 without a category", edited)
		}
		_, err = d.EditProduct(ctx, operator(), made.ID, backoffice.ProductEdit{Version: 1, Name: &name})
		var conflict *shop.Error
		if !errors.As(err, &conflict) || conflict.Code != shop.Conflict {
			t.Fatalf("an edit of an old version: got error %v, want Conflict", err)
		}
		if now, ok := conflict.Current.(store.ProductRecord); !ok || now.Version != 2 || now.Name != name {
			t.Errorf("the conflict contains %+v, want version 2 of the product", conflict.Current)
		}
		pictures := []shop.Image{{URL: picture(t, s, "b"), Alt: "Beside"}, {URL: "/products/pot.svg"}}
		shown := val(d.SetProductImages(ctx, operator(), made.ID, 2, pictures))(t)
		if shown.Version != 3 || len(shown.Images) != 2 || shown.Images[0] != pictures[0] {
			t.Errorf("SetProductImages: got %+v, want version 3 with two pictures", shown)
		}
		yes, no := true, false
		gone := val(
			d.EditProduct(ctx, operator(), made.ID, backoffice.ProductEdit{Version: 3, Archived: &yes}),
		)(t)
		if gone.ArchivedAt != noon {
			t.Errorf("got the product %+v, want it archived at %v", gone, noon)
		}
		if listed, _, err := s.Catalogue().Products(ctx, 0, 1, 10); err != nil || len(listed) != 0 {
			t.Errorf("after archiving: got the products %v (%v), want none", listed, err)
		}
		if old, _, err := d.ProductRecords(
			ctx, store.ProductsQuery{Archived: true, Page: 1, Size: 10},
		); err != nil ||
			len(old) != 1 {
			t.Errorf("got archived products %v (%v), want one", old, err)
		}
		must(
			t, errOf(d.EditProduct(ctx, operator(), made.ID, backoffice.ProductEdit{Version: 4, Archived: &no})),
		)
		for text, want := range map[string]int{"blue": 1, "%": 0, "_": 0, "!": 0, "": 1, "pot": 1, "red": 0} {
			found, _, err := d.ProductRecords(ctx, store.ProductsQuery{Text: text, Page: 1, Size: 10})
			if err != nil || len(found) != want {
				t.Errorf("search for %q: got %d products, want %d (%v)", text, len(found), want, err)
			}
		}
		if n := countJournal(t, s); n != 6 {
			t.Errorf("got %d journal rows, want 6", n)
		}
		report, err := s.Journal().VerifyJournal(ctx, "")
		if err != nil || !report.OK {
			t.Errorf("VerifyJournal: got %+v (%v), want OK", report, err)
		}
	})
}

// A dry run leaves no product, no journal row and no key. It is rejected like the operation itself.
func TestDryRunsLeaveNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		actor := operator()
		actor.Note = "for 双十一"
		tried, err := d.CreateProduct(ctx, dryRun(actor), backoffice.ProductDraft{Name: "Pot", ListPriceFen: 100})
		if err != nil || tried.Name != "Pot" || tried.Version != 1 {
			t.Errorf("dry run: got %+v (%v), want the product with version 1", tried, err)
		}
		wantCode(t, "a dry run created a product", errOf(d.ProductRecord(ctx, tried.ID)), shop.NotFound)
		wantCode(t, "a dry run with an unknown category",
			errOf(d.CreateProduct(ctx, dryRun(actor), backoffice.ProductDraft{Name: "Pot", CategoryID: 99})),
			shop.BadRequest)
		slot := backoffice.SlotDraft{OpensAt: noon, ClosesAt: noon + 3_600_000}
		if _, err := d.CreateSlot(ctx, dryRun(actor), slot); err != nil {
			t.Error(err)
		}
		made := val(d.CreateSlot(ctx, actor, slot))(t)
		if slots, err := d.SlotCalendar(ctx, noon, noon+1); err != nil || len(slots) != 1 || slots[0].ID != made.ID {
			t.Errorf("got slots %v (%v), want only the created slot", slots, err)
		}
		rows, err := s.Journal().JournalFrom(ctx, 1, 10)
		if err != nil || len(rows) != 1 || rows[0].Kind != "slot.create" || rows[0].Note != actor.Note {
			t.Errorf("got journal rows %+v (%v), want one row with the note", rows, err)
		}
	})
}

// Of many concurrent edits of the same version exactly one succeeds.
func TestOneOfConcurrentEditsSucceeds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		made := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"}))(t)
		var won, lost atomic.Int64
		var g errgroup.Group
		for i := range 8 {
			g.Go(func() error {
				name := fmt.Sprintf("Pot %d", i)
				_, err := d.EditProduct(
					ctx, operator(), made.ID, backoffice.ProductEdit{Version: 1, Name: &name},
				)
				switch code(err) {
				case "":
					won.Add(1)
				case shop.Conflict:
					lost.Add(1)
				default:
					return err
				}
				return nil
			})
		}
		must(t, g.Wait())
		if won.Load() != 1 || lost.Load() != 7 {
			t.Errorf("%d edits succeeded and %d conflicted, want 1 and 7", won.Load(), lost.Load())
		}
	})
}

// Invalid or missing references are rejected before any write.
func TestInvalidProductsAreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	ctx, d := kit.Context(t), serviceOf(s)
	made := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"}))(t)
	fine := backoffice.ProductDraft{Name: "Pan", ListPriceFen: 100}
	for want, change := range map[string]func(p *backoffice.ProductDraft){
		"name is missing":              func(p *backoffice.ProductDraft) { p.Name = " " },
		"name must be printable text":  func(p *backoffice.ProductDraft) { p.Name = "a\x00b" },
		"name has 201 characters":      func(p *backoffice.ProductDraft) { p.Name = strings.Repeat("壶", 201) },
		"list_price_fen must be":       func(p *backoffice.ProductDraft) { p.ListPriceFen = -1 },
		"0.00 to 100000000.00":         func(p *backoffice.ProductDraft) { p.ListPriceFen = 1 << 62 },
		"rules must be printable text": func(p *backoffice.ProductDraft) { p.Rules = "\xff" },
		"description has":              func(p *backoffice.ProductDraft) { p.Description = strings.Repeat("x", 50_001) },
		"there is no category":         func(p *backoffice.ProductDraft) { p.CategoryID = 404 },
		"there is no picture": func(p *backoffice.ProductDraft) {
			p.Images = []shop.Image{{URL: "/images/" + strings.Repeat("f", 64) + ".png"}}
		},
		"images[0].url must be the URL of a picture": func(p *backoffice.ProductDraft) {
			p.Images = []shop.Image{{URL: "https://evil.example/x.png"}}
		},
		"url must be the URL of a picture": func(p *backoffice.ProductDraft) { p.Images = []shop.Image{{URL: "javascript:alert(1)"}} },
		"images[0].alt must be": func(p *backoffice.ProductDraft) {
			p.Images = []shop.Image{{URL: "/products/a.svg", Alt: "\r"}}
		},
		"has at most 12 pictures":       func(p *backoffice.ProductDraft) { p.Images = make([]shop.Image, 13) },
		"images[0].url must be the URL": func(p *backoffice.ProductDraft) { p.Images = []shop.Image{{URL: "/products/../a.svg"}} },
	} {
		draft := fine
		change(&draft)
		if _, err := d.CreateProduct(ctx, operator(), draft); code(err) != shop.BadRequest ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want BadRequest with %q", err, want)
		}
	}
	wantCode(t, "an edit of a missing product",
		errOf(d.EditProduct(ctx, operator(), made.ID+1, backoffice.ProductEdit{Version: 1})), shop.NotFound)
	if n := countJournal(t, s); n != 1 {
		t.Errorf("got %d journal rows, want 1", n)
	}
}

// Categories have unique names, an order, and a version.
func TestCategoriesHaveUniqueNamesAndVersions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		tea, err := d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Tea"})
		must(t, err)
		pots, err := d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Pots"})
		must(t, err)
		wantCode(t, "the same name", errOf(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Tea"})), shop.Conflict)
		first, name, yes := 0, "Tea", true
		if _, err := d.EditCategory(ctx, operator(), pots.ID,
			backoffice.CategoryEdit{Version: 1, Name: &name}); code(err) != shop.Conflict {
			t.Errorf("the name of another category: got %v, want conflict", err)
		}
		must(t, errOf(
			d.EditCategory(ctx, operator(), pots.ID, backoffice.CategoryEdit{Version: 1, Position: &first}),
		))
		_, err = d.EditCategory(ctx, operator(), pots.ID, backoffice.CategoryEdit{Version: 1, Position: &first})
		if code(err) != shop.Conflict {
			t.Errorf("an edit of an old version: got error %v, want Conflict", err)
		}
		all, err := d.CategoryRecords(ctx)
		if err != nil || len(all) != 2 || all[0].ID != pots.ID || all[1].ID != tea.ID {
			t.Errorf("got categories %+v (%v), want Pots before Tea", all, err)
		}
		must(
			t,
			errOf(d.EditCategory(ctx, operator(), tea.ID, backoffice.CategoryEdit{Version: 1, Archived: &yes})),
		)
		if shown, err := s.Catalogue().Categories(ctx); err != nil || len(shown) != 1 {
			t.Errorf("got visible categories %v (%v), want 1", shown, err)
		}
		_, err = d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot", CategoryID: tea.ID})
		if code(err) != shop.BadRequest {
			t.Errorf("a product in an archived category: got error %v, want BadRequest", err)
		}
	})
}

// Slots do not overlap, even if several operators create them concurrently. Only empty slots can be removed.
func TestConcurrentSlotsDoNotOverlap(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		hour := shop.Millis(3_600_000)
		var won atomic.Int64
		var g errgroup.Group
		for i := range 6 {
			g.Go(func() error {
				shift := shop.Millis(i) * 60_000
				_, err := d.CreateSlot(ctx, operator(),
					backoffice.SlotDraft{OpensAt: noon + shift, ClosesAt: noon + hour + shift})
				if code(err) == "" {
					won.Add(1)
				} else if code(err) != shop.Conflict {
					return err
				}
				return nil
			})
		}
		must(t, g.Wait())
		slots, err := d.SlotCalendar(ctx, noon, noon+3*hour)
		if err != nil || won.Load() != 1 || len(slots) != 1 {
			t.Fatalf("%d calls created a slot, and the calendar has %v (%v); want one slot", won.Load(), slots, err)
		}
		_, err = d.CreateSlot(ctx, operator(),
			backoffice.SlotDraft{OpensAt: slots[0].ClosesAt, ClosesAt: slots[0].ClosesAt + hour})
		must(t, err)
		for _, draft := range []backoffice.SlotDraft{
			{OpensAt: noon, ClosesAt: noon},
			{OpensAt: noon + 1, ClosesAt: noon + hour},
			{OpensAt: noon - 2*hour, ClosesAt: noon - hour},
			{OpensAt: noon, ClosesAt: noon + 25*hour},
			{OpensAt: noon / 1000 * 1_000_000, ClosesAt: noon/1000*1_000_000 + hour},
		} {
			if _, err := d.CreateSlot(ctx, operator(), draft); code(err) != shop.BadRequest {
				t.Errorf("draft %+v: got error %v, want %v", draft, err, shop.BadRequest)
			}
		}
		must(t, errOf(d.RemoveSlot(ctx, operator(), slots[0].ID)))
		wantCode(t, "removed twice", errOf(d.RemoveSlot(ctx, operator(), slots[0].ID)), shop.NotFound)
	})
}

// A template creates all missing slots or none. Invalid lines are reported one by one.
func TestTemplateCreatesAllSlotsOrNone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		zone := val(time.LoadLocation("Europe/Berlin"))(t)
		d.Zone = zone
		day := backoffice.SlotTemplate{From: "2027-03-27", To: "2027-03-29", Times: []backoffice.SlotTime{
			{Opens: "10:00", Closes: "12:00"}, {Opens: "22:00", Closes: "24:00"},
		}}
		plan, err := d.ApplyTemplate(ctx, dryRun(operator()), day)
		if err != nil || plan.New != 6 || plan.Wrong != 0 || !plan.DryRun {
			t.Errorf("dry run: got the plan %+v (%v), want 6 new slots", plan, err)
		}
		plan, err = d.ApplyTemplate(ctx, operator(), day)
		if err != nil || plan.New != 6 || plan.DryRun {
			t.Errorf("got the plan %+v (%v), want 6 new slots", plan, err)
		}
		from, to, err := d.Days("2027-03-27", "2027-03-29")
		must(t, err)
		slots := val(d.SlotCalendar(ctx, from, to))(t)
		// daylight saving time starts on the 28th: its slots open 23 hours after those of the 27th
		if len(slots) != 6 || slots[2].OpensAt-slots[0].OpensAt != 23*3_600_000 ||
			slots[4].OpensAt-slots[2].OpensAt != 24*3_600_000 {
			t.Errorf("got the calendar %v, want 6 slots that open at the same local time each day", slots)
		}
		plan, err = d.ApplyTemplate(ctx, operator(), day)
		if err != nil || plan.New != 0 || plan.Slots[0].State != backoffice.PlanExists {
			t.Errorf("a repeat: got the plan %+v (%v), want only existing slots", plan, err)
		}
		day.Times = append(day.Times, backoffice.SlotTime{Opens: "02:00", Closes: "03:00"},
			backoffice.SlotTime{Opens: "11:00", Closes: "13:00"})
		plan, err = d.ApplyTemplate(ctx, dryRun(operator()), day)
		must(t, err)
		states := ""
		for _, line := range plan.Slots {
			states += string(line.State[0])
		}
		if states != "ttnottiottno" || plan.Wrong != 4 || plan.New != 2 ||
			!strings.Contains(plan.Slots[6].Message, "does not exist") {
			t.Errorf("a template with errors: got the states %s and the plan %+v", states, plan)
		}
		_, err = d.ApplyTemplate(ctx, operator(), day)
		if code(err) != shop.Conflict || !strings.Contains(err.Error(),
			"no slot was created. 2027-03-27 11:00–13:00: overlaps slot") ||
			!strings.Contains(err.Error(), "and 1 more") {
			t.Errorf("a template with errors: got error %v, want Conflict with the first error", err)
		}
		if again, err := d.SlotCalendar(ctx, from, to); err != nil || len(again) != 6 {
			t.Errorf("after the rejected template: got %d slots (%v), want 6", len(again), err)
		}
		for _, invalid := range []backoffice.SlotTemplate{
			{From: "2027-03-27", To: "2027-03-26", Times: day.Times},
			{From: "2027-03-27", To: "2027-03-27"},
			{From: "2027-01-01", To: "2027-12-31", Times: day.Times},
			{From: "x", To: "2027-03-27", Times: day.Times},
			{From: "2027-03-27", To: "2027-03-27", Times: []backoffice.SlotTime{{Opens: "10:00", Closes: "10:00"}}},
			{From: "2027-03-27", To: "2027-03-27", Times: []backoffice.SlotTime{{Opens: "22:00", Closes: "02:00"}}},
			{From: "2027-03-27", To: "2027-03-27", Times: make([]backoffice.SlotTime, 49)},
		} {
			if _, err := d.ApplyTemplate(ctx, dryRun(operator()), invalid); code(err) != shop.BadRequest {
				t.Errorf("template %+v: got error %v, want %v", invalid, err, shop.BadRequest)
			}
		}
	})
}

// A picture that is uploaded many times concurrently is stored once, and can be read in both forms.
func TestPictureIsStoredOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				return s.Images().SaveImage(ctx, &store.StoredImage{
					ID: strings.Repeat("c", 64), Kind: store.ImagePNG, Width: 1, Height: 1,
					Large: []byte{0, 1, 0xff}, Small: []byte{2},
				})
			})
		}
		must(t, g.Wait())
		for small, want := range map[bool]string{false: "\x00\x01\xff", true: "\x02"} {
			if got, err := s.Images().ImageFile(ctx, strings.Repeat("c", 64), store.ImagePNG, small); err != nil ||
				string(got) != want {
				t.Errorf("picture with small=%v: got %q (%v)", small, got, err)
			}
		}
		for _, id := range []string{strings.Repeat("d", 64), "", "' OR 1=1 --"} {
			wantErr(t, fmt.Sprintf("%q", id), errOf(s.Images().ImageFile(ctx, id, store.ImagePNG, false)), shop.ErrNoRow)
		}
		wantErr(t, "under another kind",
			errOf(s.Images().ImageFile(ctx, strings.Repeat("c", 64), store.ImageJPEG, false)), shop.ErrNoRow)
		known, err := s.Images().LockImages(ctx, []string{strings.Repeat("c", 64), strings.Repeat("d", 64)})
		if err != nil || len(known) != 1 {
			t.Errorf("got known pictures %v (%v), want 1", known, err)
		}
	})
}
