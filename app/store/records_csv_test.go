package store_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"stampede/app/backoffice"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/kit"
)

// An unchanged export changes nothing when it is imported. A table creates and changes all of its products or none.
func TestProductTableImportsAllOrNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		must(t, errOf(d.CreateCategory(ctx, operator(), backoffice.CategoryDraft{Name: "Tea"})))
		file := "name,category,list_price,rules,images\n" +
			"Pot 壶,Tea,129.50,\"one,\neach\",/products/pot.svg A pot\n=SUM(A1),,0,,\n"
		tried, err := d.ImportProducts(ctx, dryRun(operator()), []byte(file))
		if err != nil || tried.Created != 2 || tried.Lines != 2 || !tried.DryRun || len(tried.Problems) != 0 {
			t.Errorf("dry run: got %+v (%v), want 2 created products", tried, err)
		}
		done, err := d.ImportProducts(ctx, operator(), []byte(file))
		if err != nil || done.Created != 2 || done.DryRun {
			t.Errorf("import: got %+v (%v), want 2 created products", done, err)
		}
		exported := val(d.ExportProducts(ctx))(t)
		if !strings.Contains(string(exported), "'=SUM(A1)") ||
			!strings.HasPrefix(string(exported), "\ufeffid,version,name") {
			t.Errorf("got the export %s", exported)
		}
		same, err := d.ImportProducts(ctx, operator(), exported)
		if err != nil || same.Same != 2 || same.Changed+same.Created != 0 {
			t.Errorf("import of the export: got %+v (%v), want 2 unchanged products", same, err)
		}
		found, _, err := d.ProductRecords(ctx, store.ProductsQuery{Text: "Pot", Page: 1, Size: 10})
		if err != nil || len(found) != 1 || found[0].ListPriceFen != 12950 || found[0].Rules != "one,\neach" ||
			found[0].Category != "Tea" ||
			len(found[0].Images) != 1 || found[0].Images[0].Alt != "A pot" || found[0].Version != 1 || !found[0].Ships {
			t.Fatalf("got the products %+v (%v), want the imported pot", found, err)
		}
		pot := found[0].ID.String()
		changed, err := d.ImportProducts(ctx, operator(), []byte("id,version,list_price\n"+pot+",1,99\n"))
		if err != nil || changed.Changed != 1 {
			t.Errorf("got the import %+v (%v), want one change", changed, err)
		}
		rows := countJournal(t, s)
		invalid := "id,version,name,category,list_price,archived,images\n" +
			pot + ",1,Pot,Tea,99,no,\n" + // changed meanwhile
			"404,,Pan,,1,no,\n" + // missing product
			",,,,1,no,\n" + // no name
			",,Pan,Pans,1,no,\n" + // missing category
			",,Pan,,1.234,maybe,\n" + // invalid price and flag
			",,Pan,,1,no,https://evil.example/x.png\n" +
			",,Fine,,1,no,\n"
		report, err := d.ImportProducts(ctx, dryRun(operator()), []byte(invalid))
		if err != nil || len(report.Problems) != 7 {
			t.Errorf("got the report %+v (%v), want 7 problems", report, err)
		}
		for i, line := range []int{2, 3, 4, 5, 6, 6, 7} {
			if i < len(report.Problems) && report.Problems[i].Line != line {
				t.Errorf("problem %d: got %+v, want line %d", i, report.Problems[i], line)
			}
		}
		_, err = d.ImportProducts(ctx, operator(), []byte(invalid))
		if code(err) != shop.BadRequest || !strings.Contains(err.Error(),
			"nothing was imported. line 2, version: is outdated") {
			t.Errorf("a table with problems: got error %v", err)
		}
		if found, _, err := d.ProductRecords(ctx, store.ProductsQuery{Text: "Fine", Page: 1, Size: 10}); err != nil ||
			len(found) != 0 {
			t.Errorf("a table with problems: got imported products %v (%v), want none", found, err)
		}
		if n := countJournal(t, s); n != rows {
			t.Errorf("got %d new journal rows, want 0", n-rows)
		}
	})
}

// A table names slots and products by their times and names; times are in the shop's time zone.
func TestSaleTableUsesNamesAndLocalTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		ctx, d := kit.Context(t), serviceOf(s)
		zone := val(time.LoadLocation("Asia/Shanghai"))(t)
		d.Zone = zone
		slot, product, _ := newSaleDraft(t, s, d) // 13:00 to 15:00 UTC
		var received []shop.ID
		d.OnSale = func(_ context.Context, ids []shop.ID) { received = append(received, ids...) }
		file := "slot,product,price,stock,limit,opens,closes,challenge\n" +
			"2026-11-24 21:00,Pot,49,100,2,,,work\n" +
			"2026-11-24 21:00,Pot,59,10,1,2026-11-24 21:30,2026-11-24 22:00:30,\n"
		done, err := d.ImportSales(ctx, operator(), []byte(file))
		if err != nil || done.Created != 2 || len(received) != 2 {
			t.Fatalf("import: got %+v (%v) and notifications of %v", done, err, received)
		}
		sales, _, err := d.SaleRecords(ctx, store.SalesQuery{Slot: slot.ID, Page: 1, Size: 10})
		must(t, err)
		late, whole := sales[0], sales[1] // the sale that opens last comes first
		if late.OpensAt != slot.OpensAt+30*minute || late.ClosesAt != slot.OpensAt+60*minute+30_000 ||
			late.PriceFen != 5900 ||
			whole.OpensAt != slot.OpensAt || whole.Cap != 12 || whole.Challenge != shop.ChallengeWork ||
			late.Partition == whole.Partition {
			t.Errorf("got the sales %+v and %+v", late, whole)
		}
		exported := val(d.ExportSales(ctx, 0))(t)
		same, err := d.ImportSales(ctx, operator(), exported)
		if err != nil || same.Same != 2 || same.Changed+same.Created != 0 {
			t.Errorf("import of the export: got %+v (%v); the export is\n%s", same, err, exported)
		}
		invalid := "id,slot,product,price,stock,limit,opens,product_id\n" +
			",2026-11-24 20:00,Pot,1,1,1,,\n" + // missing slot
			",2026-11-24 21:00,Pan,1,1,1,,\n" + // missing product
			",2026-11-24 21:00,Pot,1,-1,1,,\n" + // invalid stock
			",2026-11-24 21:00,Pot,1,1,1,2026-11-24 20:59,\n" + // outside the slot
			whole.ID.String() + ",,,0,,,,\n" + // invalid price
			late.ID.String() + ",,,,,,,404\n" // another product
		report, err := d.ImportSales(ctx, dryRun(operator()), []byte(invalid))
		if err != nil || len(report.Problems) != 6 {
			t.Errorf("got the report %+v (%v), want 6 problems", report, err)
		}
		wantCode(t, "a table with problems",
			errOf(d.ImportSales(ctx, operator(), []byte(invalid))), shop.BadRequest)
		_ = product
	})
}

// Tables that need several SQL statements are created, exported, changed and imported again.
func TestLongTablesAreImported(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		const lines = 2_000
		ctx, d := kit.Context(t), serviceOf(s)
		wantImported := func(report backoffice.ImportReport, err error) {
			t.Helper()
			if err != nil || report.Created+report.Changed != lines {
				t.Errorf("got the report %+v (%v), want %d lines", report, err, lines)
			}
		}
		slot, _, _ := newSaleDraft(t, s, d)
		products, sales := strings.Builder{}, strings.Builder{}
		products.WriteString("name,list_price\n")
		sales.WriteString("slot_id,product,price,stock,limit\n")
		for i := range lines {
			fmt.Fprintf(&products, "Cup %d,12\n", i)
			fmt.Fprintf(&sales, "%d,Cup %d,9,100,1\n", slot.ID, i)
		}
		wantImported(d.ImportProducts(ctx, operator(), []byte(products.String())))
		wantImported(d.ImportSales(ctx, operator(), []byte(sales.String())))
		file := val(d.ExportSales(ctx, slot.ID))(t)
		wantImported(d.ImportSales(ctx, operator(), bytes.ReplaceAll(file, []byte(",9.00,"), []byte(",8.00,"))))
	})
}
