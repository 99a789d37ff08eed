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

	"stampede/app/shop"
	"stampede/app/store"
)

// TestCommandsSetUpASale: an operator sets up tomorrow's sale in an empty shop with commands only: category,
// product with a picture, slots, sale, copy. Then it edits, archives, and exports and imports the sale as a table.
func TestCommandsSetUpASale(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	environ := startServer(t, "STAMPEDE_TIME_ZONE=Asia/Shanghai")
	zone, err := time.LoadLocation("Asia/Shanghai")
	if err != nil {
		t.Fatal(err)
	}
	tomorrow := time.Now().In(zone).AddDate(0, 0, 1).Format(time.DateOnly)
	names := map[string]string{"DAY": tomorrow, "FOLDER": folder} // placeholders in arguments
	runArgs := func(want int, message string, args ...string) string {
		t.Helper()
		for i := range args {
			for name, value := range names {
				args[i] = strings.ReplaceAll(args[i], name, value)
			}
		}
		code, out, errOut := runCommand(t, environ, args...)
		if code != want || !strings.Contains(out+errOut, message) {
			t.Fatalf("%v: code %d, want %d with %q: %s%s", args, code, want, message, out, errOut)
		}
		return out
	}
	// runLine splits a command into arguments. No argument contains a blank.
	runLine := func(want int, message, args string) string {
		t.Helper()
		return runArgs(want, message, strings.Fields(args)...)
	}
	parse := func(text string, into any) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), into); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	write := func(name string, content []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}

	var category store.CategoryRecord
	parse(runLine(exitOK, "", "category create Tea --note first --json"), &category)
	names["CATEGORY"] = category.ID.String()
	var product store.ProductRecord
	parse(runArgs(exitOK, "", "product", "create", "--name", "Pot", "--list-price", "99", "--category", "CATEGORY",
		"--description", "<p>A pot<script>alert(1)</script></p>", "--json"), &product)
	if product.Description != "<p>A pot</p>" || product.Category != "Tea" {
		t.Errorf("got created product %+v, want the cleaned description and the category Tea", product)
	}
	names["PRODUCT"] = product.ID.String()
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 500, 20))); err != nil {
		t.Fatal(err)
	}
	write("pot.png", picture.Bytes())
	parse(runArgs(exitOK, "", "product", "image", "PRODUCT", "FOLDER/pot.png", "--alt", "A pot", "--json"), &product)
	if len(product.Images) != 1 || product.Images[0].Alt != "A pot" || product.Version != 2 {
		t.Errorf("got product %+v, want it with a picture", product)
	}
	runLine(exitFailed, "no file", "product image PRODUCT -")
	runLine(exitFailed, "changed in the meantime", "product edit PRODUCT --version 1 --name Pan")
	const template = "slot template --from DAY --times 10:00-12:00,12:00-14:00"
	runLine(exitOK, "2 new, 0 invalid", template+" --dry-run")
	runLine(exitOK, "", template)
	runLine(exitFailed, "", "slot template --from DAY --times 11:00-13:00 --dry-run")
	var slots []shop.Slot
	parse(runLine(exitOK, "", "slot list --from DAY --json"), &slots)
	if len(slots) != 2 {
		t.Fatalf("got slots %v, want two", slots)
	}
	names["FIRST"], names["SECOND"] = slots[0].ID.String(), slots[1].ID.String()
	var sale store.SaleRecord
	parse(runLine(exitOK, "", "sale create --slot FIRST --product PRODUCT --price 49.50 --stock 100 --limit 2 --json"), &sale)
	if sale.PriceFen != 4950 || sale.OpensAt != slots[0].OpensAt || sale.Cap != 12 {
		t.Errorf("got created sale %+v", sale)
	}
	names["SALE"] = sale.ID.String()
	runArgs(exitOK, "50 units, "+tomorrow+" 10:30:00", "sale", "edit", "SALE", "--opens", "DAY 10:30", "--stock", "50")
	runLine(exitUsage, "", "sale edit SALE --opens noon")
	runLine(exitFailed, "", "sale edit SALE --limit 99999")
	runLine(exitOK, "created sale", "sale copy SALE --slot SECOND")
	runLine(exitFailed, "only an empty slot", "slot remove SECOND")
	runLine(exitOK, "", "sale export FOLDER/sales.csv")
	runLine(exitOK, "0 created, 0 changed, 2 unchanged", "sale import FOLDER/sales.csv")
	write("sales.csv", []byte("id,price\n"+sale.ID.String()+",x\n"))
	runLine(exitFailed, "line 2 price: must be an amount in yuan", "sale import --dry-run FOLDER/sales.csv")
	runLine(exitOK, "", "sale archive SALE")
	runLine(exitOK, sale.ID.String(), "sale list --archived")
	runLine(exitOK, "", "sale archive --restore SALE")
	runLine(exitOK, "Pot", "product export")
	for _, args := range []string{
		"product list", "product show PRODUCT", "category list", "sale show SALE", "category edit CATEGORY --name Teas",
		"product archive PRODUCT",
	} {
		runLine(exitOK, "", args)
	}
	runLine(exitOK, "rows", "journal verify")
}
