package streams

import (
	"testing"
	"time"

	"stampede/app"
)

// What processes have counted of a sale stays side by side, each in the place of its own last word, for a while.
func TestFiguresOfSalesAreKept(t *testing.T) {
	onBoth(t, func(t *testing.T, f *fixture) {
		sale := newID()
		say := func(by string, pressed int64) {
			away := map[app.Layer]map[app.Code]int64{app.LayerNode: {app.SoldOut: pressed}}
			word := app.SaleFigures{Sale: sale, By: by, Pressed: pressed, Away: away}
			f.must(f.inventory.SaySaleFigures(f.ctx, []app.SaleFigures{word}))
		}
		say("1", 5)
		say("2", 7)
		say("1", 6)
		said, err := f.inventory.SaleFigures(f.ctx, sale)
		f.must(err)
		var pressed, away int64
		for _, one := range said {
			pressed += one.Pressed
			away += one.Away[app.LayerNode][app.SoldOut]
		}
		if len(said) != 2 || pressed != 13 || away != 13 {
			t.Errorf("kept %+v", said)
		}
		ttl, err := f.client.PTTL(f.ctx, boardSale+sale.String()).Result()
		if err != nil || ttl <= 39*24*time.Hour || ttl > app.SaleFiguresLife {
			t.Errorf("it stays for %v (%v)", ttl, err)
		}
	})
}
