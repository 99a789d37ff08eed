package backoffice

import (
	"strings"
	"testing"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/test/fakes"
)

// A list does what can be done and names every other line; the same again changes nothing.
func TestShipMany(t *testing.T) {
	t.Parallel()
	const file = "\xEF\xBB\xBFTracking,Order,Carrier\r\nSF-1,1,顺丰\nSF-2,2,SF\n=1,1,SF\nSF-3,x,SF\nSF-4,1\n"
	want := []ShipLine{
		{2, 1, ShipDone, ""},
		{3, 2, ShipNoOrder, "no such order"},
		{4, 1, ShipUnreadable, "tracking must be"},
		{5, 0, ShipUnreadable, "order: "},
		{6, 0, ShipUnreadable, "the line has 2 columns, the first one 3"},
	}
	desk, p := newTestShipping(shop.Paid)
	acts := desk.Journal.Store.(*fakes.Acts)
	for i, key := range []string{"key-00001", "key-00001", "key-00002"} {
		got, err := desk.ShipMany(t.Context(), journal.Actor{Name: "ada", Key: key}, []byte(file), false, false)
		if err != nil || len(got.Lines) != len(want) || got.Failed != 4 || got.Shipped+got.Unchanged != 1 {
			t.Fatalf("%+v, %v", got, err)
		}
		if i == 2 {
			want[0].Result = ShipSame
		}
		for j, l := range got.Lines {
			w := want[j]
			if l.Line != w.Line || l.Order != w.Order || l.Result != w.Result || !strings.HasPrefix(l.Says, w.Says) {
				t.Errorf("%s: %+v, want %+v", key, l, w)
			}
		}
	}
	if len(acts.Rows) != 2 || journal.CheckActKey(acts.Rows[0].Key) != nil || p.Row.State != shop.Shipped {
		t.Errorf("%+v, %s", acts.Rows, p.Row.State)
	}
	fakes.WantSteps(t, &fakes.Trace{Steps: p.Steps[:3]}, "ship", "sell 1", "tell 1")
}

func TestShipManyRefusesWhatIsNoList(t *testing.T) {
	t.Parallel()
	desk, p := newTestShipping(shop.Paid)
	for file, says := range map[string]string{
		"":                           "want CSV",
		"order,carrier\n1,SF\n":      "must name",
		"order,carrier,tracking\n\"": "line 2",
		"order,carrier,tracking\n" + strings.Repeat("1,SF,1\n", mostParcels+1): "more than 2000",
	} {
		_, err := desk.ShipMany(t.Context(), journal.Actor{Key: "key-00001"}, []byte(file), false, false)
		if err == nil || shop.AsError(err).Code != shop.BadRequest || !strings.Contains(err.Error(), says) {
			t.Errorf("%.40q: %v", file, err)
		}
	}
	fakes.WantSteps(t, p.Trace)
}

// Whatever the file is, it is read or refused.
func FuzzParcels(f *testing.F) {
	f.Add([]byte("order,carrier,tracking\n1,SF,SF-1\n"))
	f.Add([]byte("\xEF\xBB\xBForder;carrier;tracking\n\"1\"\"\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, parcels, err := parseParcels(file)
		if err == nil && len(lines) != len(parcels) {
			t.Errorf("%d lines, %d parcels", len(lines), len(parcels))
		}
		for i := range lines {
			if lines[i].Result == "" && parcels[i].Validate() != nil {
				t.Errorf("line %d was taken: %+v", lines[i].Line, parcels[i])
			}
		}
	})
}
