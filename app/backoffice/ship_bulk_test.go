package backoffice

import (
	"strings"
	"testing"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
)

// Valid lines are shipped and every other line is reported; a repeat changes nothing.
func TestShipManyShipsValidLinesOnce(t *testing.T) {
	t.Parallel()
	const file = "\xEF\xBB\xBFTracking,Order,Carrier\r\nSF-1,1,顺丰\nSF-2,2,SF\n=1,1,SF\nSF-3,x,SF\nSF-4,1\n"
	want := []ShipLine{
		{2, 1, store.ShipDone, ""},
		{3, 2, store.ShipNoOrder, "no such order"},
		{4, 1, store.ShipUnreadable, "tracking must be"},
		{5, 0, store.ShipUnreadable, "order: "},
		{6, 0, store.ShipUnreadable, "the line has 2 columns, but the header has 3"},
	}
	w := newWorld(t)
	w.order(1, 9, shop.Paid)
	w.startTrace()
	service := w.shipping()
	for i, key := range []string{"key-00001", "key-00001", "key-00002"} {
		got, err := service.ShipMany(w.ctx, journal.Actor{Name: "ada", Key: key}, []byte(file), false)
		if err != nil || len(got.Lines) != len(want) || got.Failed != 4 || got.Shipped+got.Unchanged != 1 {
			t.Fatalf("got %+v, %v; want %d lines, 4 of them failed", got, err, len(want))
		}
		if i == 2 {
			want[0].Result = store.ShipUnchanged
		}
		for j, l := range got.Lines {
			w := want[j]
			if l.Line != w.Line || l.Order != w.Order || l.Result != w.Result ||
				!strings.HasPrefix(l.Message, w.Message) {
				t.Errorf("%s: got %+v, want %+v", key, l, w)
			}
		}
	}
	rows := w.journalRows()
	if len(rows) != 2 || journal.CheckOperationKey(rows[0].Key) != nil {
		t.Errorf("got the journal rows %+v, want 2 rows with valid keys", rows)
	}
	fakes.WantSteps(t, &fakes.Trace{Steps: w.redis.Steps[:4]}, "RunOperation", "sell 1", "Touch", "publish 1")
}

func TestShipManyRejectsInvalidFiles(t *testing.T) {
	t.Parallel()
	service := &ShippingService{} // without a store
	for file, message := range map[string]string{
		"":                           "must be CSV",
		"order,carrier\n1,SF\n":      "must name",
		"order,carrier,tracking\n\"": "line 2",
		"order,carrier,tracking\n" + strings.Repeat("1,SF,1\n", maxParcels+1): "more than 2000",
	} {
		_, err := service.ShipMany(t.Context(), ada(), []byte(file), false)
		if err == nil || shop.AsError(err).Code != shop.BadRequest || !strings.Contains(err.Error(), message) {
			t.Errorf("%.40q: got %v, want bad_request with %q", file, err, message)
		}
	}
}

// Every file is parsed or rejected.
func FuzzParcels(f *testing.F) {
	f.Add([]byte("order,carrier,tracking\n1,SF,SF-1\n"))
	f.Add([]byte("\xEF\xBB\xBForder;carrier;tracking\n\"1\"\"\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, parcels, err := parseParcels(file)
		if err == nil && len(lines) != len(parcels) {
			t.Errorf("got %d lines and %d parcels", len(lines), len(parcels))
		}
		for i := range lines {
			if lines[i].Result == "" && checkParcel(&parcels[i]) != nil {
				t.Errorf("line %d: an invalid parcel was accepted: %+v", lines[i].Line, parcels[i])
			}
		}
	})
}
