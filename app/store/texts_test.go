package store_test

import (
	"strings"
	"testing"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// Lists have the names of products and categories in all languages, details have all texts.
func TestTextsInFurtherLanguagesAreRead(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx := kit.Context(t)
		tea := shop.Category{ID: nextID(), Name: "Tea", Texts: map[string]shop.CategoryText{"zh": {Name: "茶具"}}}
		empty := shop.Category{ID: nextID(), Name: "Empty"}
		must(t, s.Catalogue().AddCategories(ctx, []shop.Category{tea, empty}))
		wantEqual(t, "categories (-want +got)", []shop.Category{tea, empty}, val(s.Catalogue().Categories(ctx))(t))

		pot := shop.Product{
			ID: nextID(), Name: "Pot", CategoryID: tea.ID, Images: []shop.Image{}, Texts: map[string]shop.ProductText{
				"en": {Rules: "two each"}, "zh": {Name: "茶壶", Description: "<p>茶壶</p>", Rules: "每人一只"},
			},
		}
		cup := shop.Product{ID: nextID(), Name: "Cup", CategoryID: tea.ID, Images: []shop.Image{}}
		plain := shop.Product{ID: nextID(), Name: "Plain", Images: []shop.Image{}}
		must(t, s.Catalogue().AddProducts(ctx, []shop.Product{pot, cup, plain}))

		short := map[string]shop.ProductText{"zh": {Name: "茶壶", Category: "茶具"}}
		full := map[string]shop.ProductText{
			"en": {Rules: "two each"},
			"zh": {Name: "茶壶", Category: "茶具", Description: "<p>茶壶</p>", Rules: "每人一只"},
		}
		listed, _, err := s.Catalogue().Products(ctx, 0, 1, 10)
		must(t, err)
		wantEqual(t, "texts of the list (-want +got)", []map[string]shop.ProductText{
			short, {"zh": {Category: "茶具"}}, nil,
		}, shop.Mapped(listed, func(p shop.Product) map[string]shop.ProductText { return p.Texts }))
		wantEqual(t, "texts of the product (-want +got)", full, val(s.Catalogue().Product(ctx, pot.ID))(t).Texts)

		slot := shop.Slot{ID: nextID(), OpensAt: opens, ClosesAt: opens + 1000}
		must(t, s.Catalogue().AddSlots(ctx, []shop.Slot{slot}))
		sale := shop.Sale{
			ID: nextID(), Slot: slot.ID, Product: pot, Initial: 1, Limit: 1, Cap: 1, OpensAt: slot.OpensAt,
			ClosesAt: slot.ClosesAt, Version: 1,
		}
		must(t, s.Sales().AddSales(ctx, []shop.Sale{sale}))
		read := val(s.Sales().Sale(ctx, sale.ID))(t)
		wantEqual(t, "texts of the sale (-want +got)", full, read.Product.Texts)
		wantEqual(t, "texts of its view (-want +got)", short, shop.ViewOf(&read, shop.Counters{}, opens).Product.Texts)
		wantEqual(t, "texts of the sale after its view (-want +got)", full, read.Product.Texts)
		wantEqual(t, "texts of its record (-want +got)", short, val(s.Sales().SaleRecord(ctx, sale.ID))(t).Product.Texts)
	})
}

// An edit with texts replaces all of them. Other edits and imports keep them.
func TestEditsReplaceTexts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		tea := val(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{
			Name: "Tea", Texts: map[string]shop.CategoryText{"zh": {Name: " 茶具 "}, "en": {Name: " "}},
		}))(t)
		wantEqual(t, "names of the category (-want +got)", map[string]shop.CategoryText{"zh": {Name: "茶具"}}, tea.Texts)
		pot := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{
			Name: "Pot", CategoryID: tea.ID, Texts: map[string]shop.ProductText{
				"zh": {Name: " 茶壶 ", Description: "<p>茶壶</p><script>", Rules: "每人一只"},
				"en": {Category: "ignored", Description: " ", Rules: " \n"},
			},
		}))(t)
		want := map[string]shop.ProductText{
			"zh": {Name: "茶壶", Category: "茶具", Description: "<p>茶壶</p>", Rules: "每人一只"},
		}
		wantEqual(t, "texts of the product (-want +got)", want, pot.Texts)

		name, first := "Blue pot", 1
		pot = val(d.EditProduct(ctx, operator(), pot.ID, backoffice.ProductEdit{Version: 1, Name: &name}))(t)
		wantEqual(t, "after an edit of the name (-want +got)", want, pot.Texts)
		imported, err := d.ImportProducts(ctx, operator(), []byte("id,version,rules\n"+pot.ID.String()+",2,none\n"))
		if err != nil || imported.Changed != 1 {
			t.Fatalf("got the import %+v (%v), want one change", imported, err)
		}
		wantEqual(t, "after an import (-want +got)", want, val(s.Catalogue().Product(ctx, pot.ID))(t).Texts)
		tea = val(d.EditCategory(ctx, operator(), tea.ID, backoffice.CategoryEdit{Version: 1, Position: &first}))(t)
		wantEqual(t, "after a move of the category (-want +got)", "茶具", tea.Texts["zh"].Name)

		pot = val(d.EditProduct(ctx, operator(), pot.ID, backoffice.ProductEdit{
			Version: 3, Texts: map[string]shop.ProductText{"en": {Name: "Pot"}},
		}))(t)
		want = map[string]shop.ProductText{"en": {Name: "Pot"}, "zh": {Category: "茶具"}}
		wantEqual(t, "after an edit of the texts (-want +got)", want, pot.Texts)
		tea = val(d.EditCategory(ctx, operator(), tea.ID, backoffice.CategoryEdit{
			Version: 2, Texts: map[string]shop.CategoryText{},
		}))(t)
		pot = val(d.EditProduct(ctx, operator(), pot.ID, backoffice.ProductEdit{
			Version: 4, Texts: map[string]shop.ProductText{},
		}))(t)
		if len(tea.Texts) != 0 || len(pot.Texts) != 0 {
			t.Errorf("after the removal: got the texts %v and %v, want none", tea.Texts, pot.Texts)
		}
	})
}

// Texts have the limits of the fields that they translate, and the languages of the page.
func TestInvalidTextsAreRejected(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	ctx, d := kit.Context(t), serviceOf(s)
	rejected := func(want string, err error) {
		t.Helper()
		if code(err) != shop.BadRequest || !strings.Contains(err.Error(), want) {
			t.Errorf("got error %v, want BadRequest with %q", err, want)
		}
	}
	made := val(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pot"}))(t)
	for want, texts := range map[string]map[string]shop.ProductText{
		"texts.fr: the languages are en and zh":    {"fr": {Name: "Théière"}},
		"texts.zh.name has 201 characters":         {"zh": {Name: strings.Repeat("壶", 201)}},
		"texts.zh.name must be printable text":     {"zh": {Name: "a\nb"}},
		"texts.zh.rules has 10001 characters":      {"zh": {Rules: strings.Repeat("壶", 10_001)}},
		"texts.zh.description has 50001 character": {"zh": {Description: strings.Repeat("x", 50_001)}},
	} {
		rejected(want, errOf(d.CreateProduct(ctx, operator(), backoffice.ProductDraft{Name: "Pan", Texts: texts})))
		rejected(want, errOf(d.EditProduct(ctx, operator(), made.ID, backoffice.ProductEdit{Version: 1, Texts: texts})))
	}
	tea := val(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Tea"}))(t)
	for want, texts := range map[string]map[string]shop.CategoryText{
		"texts.fr: the languages are en and zh": {"fr": {Name: "Thé"}},
		"texts.zh.name has 101 characters":      {"zh": {Name: strings.Repeat("壶", 101)}},
	} {
		rejected(want, errOf(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Pans", Texts: texts})))
		edit := backoffice.CategoryEdit{Version: 1, Texts: texts}
		rejected(want, errOf(d.EditCategory(ctx, operator(), tea.ID, edit)))
	}
	if n := countJournal(t, s); n != 2 {
		t.Errorf("got %d journal rows, want 2", n)
	}
}
