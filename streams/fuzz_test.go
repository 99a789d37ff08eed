package streams

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/shop"
)

// Every stream entry is either parsed completely or reported as unreadable.
func FuzzEntry(f *testing.F) {
	const order = "2:1790000000000000002"
	const rest = `:7:12:5:1:2:4990:3:000000000000beef:key-one-1:1790000000000000001:42:{"name":"李:雷"}`
	for _, seed := range [][2]string{
		{"1790000000000-0", order + rest},
		{"1790000000000-0", strings.TrimPrefix(order, "2:") + rest},
		{"1-1", "2:0" + rest},
		{"x-1", "3" + order[1:] + rest},
		{"5-0", strings.Repeat(":", 13)},
		{"5-0", "2:9223372036854775808" + rest},
		{"", "2:+1:1:1:1:1:-1:1:1:h:k:1:1:"},
		{"5-0", "2:1:1:1:1:1:99999999999999999999:1:1:h:k:1:1:"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, id, terms string) {
		e := parseEntry(1, redis.XMessage{ID: id, Values: map[string]any{"terms": terms}})
		if e.StreamID != id || e.Partition != 1 {
			t.Fatalf("got another id or partition in the entry %+v", e)
		}
		if e.ParseErr != nil {
			return
		}
		if e.Order <= 0 || e.Sale <= 0 || e.User <= 0 || e.Epoch <= 0 || e.Seq <= 0 || e.Ticket <= 0 || e.Hold <= 0 ||
			e.Qty <= 0 || e.PriceFen < 0 || e.SaleVersion < 0 {
			t.Fatalf("got the invalid values %+v, want an error", e)
		}
		if !strings.HasSuffix(terms, ":"+e.Address) || strings.Contains(e.Key, ":") || strings.Contains(e.Hash, ":") {
			t.Fatalf("terms %q were parsed as %+v", terms, e)
		}
	})
}

// An entry of the paid stream must match its fields. Otherwise it is not read.
func FuzzOutboxMessage(f *testing.F) {
	const valid = `{"order":"1790000000000000002","rev":2,"state":"paid","sale":"5","user":"6","amount_fen":9800}`
	for _, seed := range [][3]string{
		{"1790000000000000002", "2", valid},
		{"1790000000000000003", "2", valid},
		{"0", "0", `{}`},
		{"1", "02", `{"order":"1","rev":2}`},
		{"-1", "1", `{"order":-1,"rev":1}`},
		{"", "", "null"},
	} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, order, rev, body string) {
		p, err := parsePosting(redis.XMessage{Values: map[string]any{"order": order, "rev": rev, "body": body}})
		if err != nil {
			return
		}
		if p.Order < 1 || p.Rev < 1 || p.Order.String() != order || strconv.Itoa(p.Rev) != rev {
			t.Fatalf("order %q, rev %q, body %q were parsed as %+v", order, rev, body, p)
		}
	})
}

// Holds and ids of dead letters come from Redis and from operators.
func FuzzNames(f *testing.F) {
	for _, seed := range [][2]string{
		{"1790000000000000001", "1:2"},
		{"1", "1:2:sold"},
		{"0", "::"},
		{"x", "1:2:3:4"},
		{"1-1790000000000-0", "-1:-1:-1"},
		{"--", ""},
	} {
		f.Add(seed[0], seed[1])
	}
	client := redis.NewClient(&redis.Options{}) // never connects
	f.Cleanup(func() { _ = client.Close() })
	l, err := New(Options{Client: client, Partitions: 2})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, value string) {
		if h, err := parseHold(name, value); err == nil && (h.Order <= 0 || h.Order.String() != name) {
			t.Fatalf("hold %q of order %q was parsed as %+v", value, name, h)
		}
		partition, entry, err := l.Queue().letterID(name)
		if err == nil && (partition < 0 || partition >= 2 || !strings.HasSuffix(name, "-"+entry)) {
			t.Fatalf("id %q was parsed as entry %q of partition %d", name, entry, partition)
		}
	})
}

// reserve.lua with arguments that the gate never sends: it never throws and keeps the stock equation (P1). Its entry
// for an acceptable buy is read back unchanged.
func FuzzReserveArguments(f *testing.F) {
	for _, seed := range []struct{ order, user, qty, key, hash, address string }{
		{
			"1790000000000000001", "42", "1", "key-one-1", "000000000000beef",
			`{"name":"李雷","phone":"1","text":"a:b|c;d"}`,
		},
		{"1790000000000000002", "42", "3", "key.two_2", "000000000000beef", ""},
		{"1", "1", "1e400", "key-one-1", "h", ""},
		{"1", "1", "0x1", "key-one-1", "h", ""},
		{"1", "1", " 1e0", "key-one-1", "h", ""},
		{"1", "1", "nan", "a;b:c|d", "|;:", "\x00\xff"},
		{"", "", "", "", "", ""},
		{"-1", "9007199254740993", "1.5", "%d%s%%", "%", "%"},
		{"1", "1", "1", "key-one-1", "h", strings.Repeat("x", 5000)},
	} {
		f.Add(seed.order, seed.user, seed.qty, seed.key, seed.hash, seed.address)
	}
	fix := onRedis(f)
	k := &fix.inventory.parts[1].keys
	f.Fuzz(func(t *testing.T, order, user, qty, key, hash, address string) {
		fix.t, fix.ctx = t, t.Context()
		s := fix.openSale(5)
		defer fix.client.Unlink(fix.ctx, k.waiting, k.sale(s.ID), k.buyers(s.ID), k.open(s.ID))
		defer fix.client.XTrimMaxLen(fix.ctx, k.orders, 0)
		keys := reserveKeys(fix.inventory, s.Ref())
		for range 2 {
			reply, err := reserveScript.run(fix.ctx, fix.client, keys, testEpoch, 1<<40, int64(s.ID), 0, 0, 0, order,
				user, qty, key, hash, address)
			if err != nil {
				t.Fatalf("the script failed: %v", err)
			}
			if code := integer(reply[0]); code != codeDone && code != codeRejected {
				t.Fatalf("got code %d, want done or rejected", code)
			}
			numbers, err := fix.inventory.Stock().Counters(fix.ctx, []shop.SaleRef{s.Ref()})
			if c := numbers[0]; err != nil || c.Stock < 0 || c.Stock+c.Held != 5 || c.Tickets > 2 {
				t.Fatalf("P1: got %+v, %v, want stock + held = 5", c, err)
			}
		}
		sent, errOrder := shop.ParseID(order)
		buyer, errUser := shop.ParseID(user)
		if errOrder != nil || errUser != nil || strings.ContainsAny(key+hash, ":;|") || key == "" {
			return // callers never send these
		}
		newest, err := fix.client.XRevRangeN(fix.ctx, k.orders, "+", "-", 1).Result()
		if err != nil || len(newest) == 0 {
			return
		}
		e := parseEntry(1, newest[0])
		if e.Sale == s.ID &&
			(e.ParseErr != nil || e.Order != sent || e.User != buyer || e.Key != key || e.Hash != hash ||
				e.Address != address) {
			t.Fatalf("got the entry %+v, want the values of the call", e)
		}
	})
}

// An entry of the mail stream is an e-mail with a recipient, or it is reported as invalid. Quarantined entries
// are listed with any content.
func FuzzEmail(f *testing.F) {
	f.Add("reset", `{"Kind":"reset","About":"h","To":"a@example.com","Lang":"zh","Link":"https://shop/#reset=x"}`, "3")
	f.Add("paid", `{"Kind":"paid","To":"a@example.com","Order":{"ID":"7","ProductName":"<b>","AmountFen":-1}}`, "x")
	f.Add("paid", `{"Kind":"reset","To":"a@example.com"}`, "99999999999999999999")
	f.Add("", `null`, "")
	f.Fuzz(func(t *testing.T, kind, letter, tries string) {
		m := redis.XMessage{ID: "1-0", Values: map[string]any{"kind": kind, "body": letter, "deliveries": tries}}
		l, err := parseMail(m)
		if err != nil && !errors.Is(err, shop.ErrPermanent) {
			t.Fatalf("e-mail %q: got %v, want ErrPermanent", letter, err)
		}
		if err == nil && (l.To == "" || string(l.Kind) != kind) {
			t.Fatalf("body %q of the kind %q was parsed as %+v", letter, kind, l)
		}
		if d := parseQuarantinedMail(m); d.ID != m.ID || err == nil && d.To != l.To {
			t.Fatalf("body %q is listed as %+v", letter, d)
		}
	})
}
