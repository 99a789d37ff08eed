package shoppers

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"stampede/app"
)

func newShopper() *shopper {
	return &shopper{
		random: rand.New(rand.NewPCG(1, 2)), pace: busiest, rush: rush,
		asked: make(map[int64]request), sales: make(map[app.ID]sale), regret: make(map[app.ID]time.Time),
	}
}

// TestEveryFrameIsUnderstood: no frame of the protocol may end a visit, except the refusal of a token and those
// that make a shopper write, which needs a connection.
func TestEveryFrameIsUnderstood(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../realtime/testdata/protocol/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden frames: %v", err)
	}
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var golden []struct {
			Name, Direction string
			Frame           json.RawMessage
		}
		if err := json.Unmarshal(text, &golden); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, g := range golden {
			var f frame
			if g.Direction != "server" {
				continue
			}
			if err := json.Unmarshal(g.Frame, &f); err != nil {
				t.Errorf("%s, %s: %v", filepath.Base(path), g.Name, err)
				continue
			}
			if f.Event == "slot" && f.Phase == app.Open || f.Error != nil && f.Error.Code == app.Unauthorized {
				continue
			}
			if _, err := newShopper().hear(f); err != nil {
				t.Errorf("%s, %s: %v", filepath.Base(path), g.Name, err)
			}
		}
	}
}

func TestTicksMoveTheStock(t *testing.T) {
	t.Parallel()
	s := newShopper()
	s.asked[2] = request{Op: "watch"}
	for _, text := range []string{
		`{"id":2,"ok":{"slots":[],"sales":[{"id":"7","stock":5,"limit":2,"phase":"open"}]}}`,
		`{"ev":"tick","now":1,"sales":[{"id":"7","stock":3},{"id":"8","stock":1}]}`,
	} {
		var f frame
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		if _, err := s.hear(f); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.sales[7]; len(s.sales) != 1 || got.Stock != 3 || got.Limit != 2 || got.Phase != app.Open {
		t.Errorf("got %+v", s.sales)
	}
}

// TestCrowdsOfAnySizeSellOverMinutes: the whole crowd's rate does not grow with its size.
func TestCrowdsOfAnySizeSellOverMinutes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 50, 500, 10_000} {
		rate := float64(n) / (&Crowd{Count: n}).pace().Seconds()
		if rate > 5.1 {
			t.Errorf("%d shoppers buy %.1f times a second", n, rate)
		}
	}
}
