package main

import (
	"bytes"
	"encoding/json"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"stampede/app"
)

// A person who never saw SQL sets up tomorrow's sale from an empty folder: category, product with a picture, slots,
// sale, copy; looks at it, edits it, and takes it out and in as a table.
func TestCatalogueFromTheCommandLine(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	environ := []string{"STAMPEDE_DATA=" + folder, "STAMPEDE_TIME_ZONE=Asia/Shanghai"}
	do := func(want int, args ...string) string {
		t.Helper()
		code, out, errOut := call(t, environ, args...)
		if code != want {
			t.Fatalf("%v: code %d, %s%s", args, code, out, errOut)
		}
		return out + errOut
	}
	parse := func(text string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().In(zone).AddDate(0, 0, 1).Format(time.DateOnly)

	var category app.CategoryRecord
	parse(do(exitOK, "category", "create", "Tea", "--by", "ada", "--json"), &category)
	var product app.ProductRecord
	parse(do(exitOK, "product", "create", "--name", "Pot", "--list-price", "99", "--category", category.ID.String(),
		"--description",
		"<p>A pot<script>alert(1)</script></p>", "--json"), &product)
	if product.Description != "<p>A pot</p>" || product.Category != "Tea" {
		t.Errorf("made %+v", product)
	}
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 500, 20))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "pot.png")
	if err := os.WriteFile(file, picture.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	parse(do(exitOK, "product", "image", product.ID.String(), file, "--alt", "A pot", "--json"), &product)
	if len(product.Images) != 1 || product.Images[0].Alt != "A pot" || product.Version != 2 {
		t.Errorf("with a picture %+v", product)
	}
	if out := do(exitFailed, "product", "image", product.ID.String(), "-"); !strings.Contains(out,
		"no JPEG, PNG or WebP") {
		t.Errorf("no picture: %s", out)
	}
	if out := do(exitFailed, "product", "edit", product.ID.String(), "--version", "1", "--name",
		"Pan"); !strings.Contains(out, "changed by somebody else") {
		t.Errorf("an old version: %s", out)
	}
	if out := do(exitOK, "slot", "template", "--from", tomorrow, "--times", "10:00-12:00,12:00-14:00",
		"--dry-run"); !strings.Contains(out, "2 new, 0 wrong") {
		t.Errorf("the template: %s", out)
	}
	do(exitOK, "slot", "template", "--from", tomorrow, "--times", "10:00-12:00,12:00-14:00")
	do(exitFailed, "slot", "template", "--from", tomorrow, "--times", "11:00-13:00", "--dry-run")
	var slots []app.Slot
	parse(do(exitOK, "slot", "list", "--from", tomorrow, "--json"), &slots)
	if len(slots) != 2 {
		t.Fatalf("slots %v", slots)
	}
	var sale app.SaleRecord
	parse(do(exitOK, "sale", "create", "--slot", slots[0].ID.String(), "--product", product.ID.String(), "--price",
		"49.50", "--stock", "100",
		"--limit", "2", "--json"), &sale)
	if sale.PriceFen != 4950 || sale.OpensAt != slots[0].OpensAt || sale.Cap != 12 {
		t.Errorf("made %+v", sale)
	}
	if out := do(exitOK, "sale", "edit", sale.ID.String(), "--opens", tomorrow+" 10:30", "--stock",
		"50"); !strings.Contains(out, "50 units, "+tomorrow+" 10:30:00") {
		t.Errorf("edited: %s", out)
	}
	do(exitUsage, "sale", "edit", sale.ID.String(), "--opens", "noon")
	do(exitFailed, "sale", "edit", sale.ID.String(), "--limit", "99999")
	if out := do(exitOK, "sale", "copy", sale.ID.String(), "--slot", slots[1].ID.String()); !strings.Contains(out,
		"made sale") {
		t.Errorf("copied: %s", out)
	}
	if out := do(exitFailed, "slot", "remove", slots[1].ID.String()); !strings.Contains(out, "only an empty slot") {
		t.Errorf("a slot with a sale: %s", out)
	}
	table := filepath.Join(folder, "sales.csv")
	do(exitOK, "sale", "export", table)
	if out := do(exitOK, "sale", "import", table); !strings.Contains(out, "0 made, 0 changed, 2 the same") {
		t.Errorf("imported: %s", out)
	}
	if err := os.WriteFile(table, []byte("id,price\n"+sale.ID.String()+",x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := do(exitFailed, "sale", "import", "--dry-run", table); !strings.Contains(out,
		"line 2 price: must be yuan") {
		t.Errorf("a table with a problem: %s", out)
	}
	do(exitOK, "sale", "archive", sale.ID.String())
	if out := do(exitOK, "sale", "list", "--archived"); !strings.Contains(out, sale.ID.String()) {
		t.Errorf("archived: %s", out)
	}
	do(exitOK, "sale", "archive", "--undo", sale.ID.String())
	if out := do(exitOK, "product", "export"); !strings.Contains(out, "Pot") {
		t.Errorf("exported: %s", out)
	}
	for _, args := range [][]string{
		{"product", "list"},
		{"product", "show", product.ID.String()},
		{"category", "list"},
		{
			"sale", "show",
			sale.ID.String(),
		},
		{"category", "edit", category.ID.String(), "--name", "Teas"},
		{"product", "archive", product.ID.String()},
	} {
		do(exitOK, args...)
	}
	if out := do(exitOK, "journal", "verify"); !strings.Contains(out, "rows") {
		t.Errorf("the journal: %s", out)
	}
}
