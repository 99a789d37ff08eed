package limits

import (
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
)

// TestFloodFromOneSiteEvictsNoOtherClient: 65,536 networks of one /48 take as many tokens as they get. The empty
// buckets of 500 other clients stay in place, and the site gets shop.WideFactor times as many as one client.
func TestFloodFromOneSiteEvictsNoOtherClient(t *testing.T) {
	t.Parallel()
	table := NewAddrs(Pace{Rate: 1, Period: time.Hour, Burst: 2})
	others := make([]netip.Addr, 500)
	for i := range others {
		others[i] = netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
		table.Take(others[i])
		table.Take(others[i])
	}
	admitted := 0
	for i := range 1 << 16 {
		for range 3 {
			if table.Take(netip.AddrFrom16([16]byte{0x20, 0x01, 6: byte(i >> 8), byte(i)})) == 0 {
				admitted++
			}
		}
	}
	if admitted != 2*shop.WideFactor {
		t.Errorf("the site got %d tokens, want %d", admitted, 2*shop.WideFactor)
	}
	for _, other := range others {
		if table.Wait(other) == 0 {
			t.Fatalf("%v has lost its bucket because of the flood", other)
		}
	}
}

func TestFloodOfKeysEvictsTheFullestBuckets(t *testing.T) {
	t.Parallel()
	table := NewTable[int](Pace{Rate: 1, Period: time.Hour, Burst: 5})
	for range 5 {
		table.Take(-1)
	}
	for i := range 3 * maxBuckets {
		table.Take(i)
	}
	if table.Wait(-1) == 0 {
		t.Error("the emptiest bucket was dropped before fuller buckets")
	}
}

func TestPlacesAreLimitedPerUserAndAddress(t *testing.T) {
	t.Parallel()
	p := Places{Max: 100, User: 3, Addr: 4}
	enter := func(user shop.ID, addr netip.Addr) bool {
		if !p.HasRoom(user, addr) {
			return false
		}
		p.Add(user, addr, 1)
		return true
	}
	type holder struct {
		user shop.ID
		addr netip.Addr
	}
	var held []holder
	fill := func(user shop.ID, addr func(i int) netip.Addr) (n int) {
		for i := range 200 {
			if enter(user, addr(i)) {
				held = append(held, holder{user, addr(i)})
				n++
			}
		}
		return n
	}
	sameAddr := func(addr netip.Addr) func(int) netip.Addr { return func(int) netip.Addr { return addr } }
	site := func(i int) netip.Addr { return netip.AddrFrom16([16]byte{0xfd, 7: byte(i)}) }
	otherAddr := func(i int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(i)}) }
	for name, c := range map[string]struct{ got, want int }{
		"a user":          {fill(7, sameAddr(home)), 3},
		"an address":      {fill(0, sameAddr(office)), 4},
		"a site":          {fill(0, site), 50}, // half of Max
		"other addresses": {fill(0, otherAddr), 100 - 3 - 4 - 50},
	} {
		if c.got != c.want {
			t.Errorf("%s holds %d, want %d", name, c.got, c.want)
		}
	}
	for _, h := range held {
		p.Add(h.user, h.addr, -1)
	}
	if p.total+len(p.users)+len(p.nets) > 0 {
		t.Errorf("places are still counted after the release: %+v", p)
	}
}

// TestClientsAreCountedByNetworks: no package counts clients by an address alone; shop.Networks returns their keys.
func TestClientsAreCountedByNetworks(t *testing.T) {
	t.Parallel()
	root := os.DirFS("../..")
	for _, folder := range []string{"app", "realtime", "streams"} {
		err := fs.WalkDir(root, folder, func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			if path == "app/backoffice/block_list.go" { // operators' decisions, which include networks
				return nil
			}
			text, err := fs.ReadFile(root, path)
			if strings.Contains(string(text), "[netip.Addr]") {
				t.Errorf("%s has a table with addresses as keys, want shop.Networks or limits.Addrs", path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
