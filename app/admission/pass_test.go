package admission

import (
	"encoding/base64"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"stampede/app/shop"
	"stampede/app/test/fakes"
)

var (
	testPasses  = NewPasses([]byte("0123456789abcdef0123456789abcdef"))
	otherPasses = NewPasses([]byte("fedcba9876543210fedcba9876543210"))
)

// A pass is valid for its user, its sale and its time, and only if it was signed as a pass with the key.
func TestPassIsBoundToUserSaleAndTime(t *testing.T) {
	t.Parallel()
	const sale, user, now, until = shop.ID(7), shop.ID(42), shop.Millis(1_000_000), shop.Millis(1_120_000)
	pass := testPasses.issue(sale, user, now, until)
	for name, c := range map[string]struct {
		pass       string
		sale, user shop.ID
		at         shop.Millis
		want       shop.Millis
	}{
		"a valid pass":          {pass, sale, user, until - 1, now},
		"an expired pass":       {pass, sale, user, until, 0},
		"another user":          {pass, sale, user + 1, now, 0},
		"another sale":          {pass, sale + 1, user, now, 0},
		"user and sale swapped": {pass, user, sale, now, 0},
		"another key":           {otherPasses.issue(sale, user, now, until), sale, user, now, 0},
		"a task":                {testPasses.newTask(sale, user, now, 16).Text, sale, user, now, 0},
		"no pass":               {"", sale, user, now, 0},
		"a truncated pass":      {pass[:len(pass)-1], sale, user, now, 0},
		"one more character":    {pass + "A", sale, user, now, 0},
		"not base64":            {strings.Repeat("!", len(pass)), sale, user, now, 0},
		"a very long text":      {strings.Repeat("A", 1<<16), sale, user, now, 0},
		"several line breaks":   {pass[:20] + strings.Repeat("\r\n", 13), sale, user, now, 0},
		"one line break":        {pass[:10] + "\n" + pass[11:], sale, user, now, 0},
	} {
		if got := testPasses.Issued(c.pass, c.sale, c.user, c.at); got != c.want {
			t.Errorf("%s: got the instant %d, want %d", name, got, c.want)
		}
	}
	if (*Passes)(nil).Issued(pass, sale, user, now) != 0 {
		t.Error("a nil *Passes accepts a pass, want the instant 0")
	}
}

// A change of any part invalidates a pass: its time, its kind, its signature, and the unused bits at its end.
func TestForgedPassIsRejected(t *testing.T) {
	t.Parallel()
	pass := testPasses.issue(7, 42, 1_000_000, 1_120_000)
	raw, err := base64.RawURLEncoding.DecodeString(pass)
	fakes.Must(t, err)
	for i := range raw {
		for bit := range 8 {
			forged := append([]byte(nil), raw...)
			forged[i] ^= 1 << bit
			if testPasses.Issued(base64.RawURLEncoding.EncodeToString(forged), 7, 42, 1_000_001) != 0 {
				t.Fatalf("byte %d, bit %d: a forged pass is accepted", i, bit)
			}
		}
	}
	for c := range 128 {
		text := pass[:len(pass)-1] + string(rune(c))
		if text != pass && testPasses.Issued(text, 7, 42, 1_000_001) != 0 {
			t.Fatalf("%q and %q are both accepted, want one valid text", text, pass)
		}
	}
}

// A proof of work is checked against its user, sale, time and difficulty. All solutions of one task return the same
// pass.
func TestWorkSolutionsReturnOnePass(t *testing.T) {
	t.Parallel()
	const sale, user, now, bits = shop.ID(7), shop.ID(42), shop.Millis(1_000_000), 10
	task := testPasses.newTask(sale, user, now, bits)
	nonce := Solve(task.Text, bits)
	pass, until, ok := testPasses.passForWork(task.ID, nonce, sale, user, now+5_000)
	if !ok || testPasses.Issued(pass, sale, user, until-1) != now {
		t.Fatalf("the solution is rejected: got pass %q until %d", pass, until)
	}
	if again, _, ok := testPasses.passForWork(task.ID, nonce, sale, user, now+90_000); !ok || again != pass {
		t.Error("a repeated solution returns another pass, want the same pass")
	}
	n, err := strconv.Atoi(nonce)
	fakes.Must(t, err)
	n++
	for !Solves(task.Text, strconv.Itoa(n), bits) {
		n++
	}
	if other, _, ok := testPasses.passForWork(task.ID, strconv.Itoa(n), sale, user, now); !ok || other != pass {
		t.Error("two solutions of one task return different passes, want the same pass")
	}
	easy := testPasses.newTask(sale, user, now, 1)
	for name, c := range map[string]struct {
		task, nonce string
		sale, user  shop.ID
		at          shop.Millis
	}{
		"a wrong nonce":                 {task.ID, wrongNonce(task), sale, user, now},
		"another user":                  {task.ID, nonce, sale, user + 1, now},
		"another sale":                  {task.ID, nonce, sale + 1, user, now},
		"an expired task":               {task.ID, nonce, sale, user, task.Until},
		"a wrong nonce of an easy task": {easy.ID, wrongNonce(easy), sale, user, now},
		"another key":                   {otherPasses.newTask(sale, user, now, 1).ID, "1", sale, user, now},
		"a pass as a task":              {pass, Solve(pass, 1), sale, user, now},
		"not a number":                  {task.ID, "x" + nonce, sale, user, now},
		"a leading zero":                {task.ID, "0" + nonce, sale, user, now},
		"no nonce":                      {task.ID, "", sale, user, now},
		"a very long nonce":             {task.ID, strings.Repeat("1", 1<<16), sale, user, now},
	} {
		if pass, _, ok := testPasses.passForWork(c.task, c.nonce, c.sale, c.user, c.at); ok || pass != "" {
			t.Errorf("%s: got a pass, want none", name)
		}
	}
}

func wrongNonce(task *Task) string {
	for n := 0; ; n++ {
		if nonce := strconv.Itoa(n); !Solves(task.Text, nonce, task.Bits) {
			return nonce
		}
	}
}

// A moderate rate, such as 200 people behind one address, does not add bits. A flood of requests adds bits until
// 30 s after the flood. Other addresses are not affected.
func TestPressureAddsBitsPerNetwork(t *testing.T) {
	t.Parallel()
	var p pressure
	began := time.Now()
	office, flood := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for i := range 200 {
		if addedBits := p.count(office, began.Add(time.Duration(i)*50*time.Millisecond)); addedBits != 0 {
			t.Fatalf("request %d of the office: got %d added bits, want 0", i+1, addedBits)
		}
	}
	last := 0
	for i := range 20_000 {
		addedBits := p.count(flood, began.Add(time.Duration(i)*500*time.Microsecond))
		if addedBits < last {
			t.Fatalf("request %d: got %d added bits, want at least the %d of the previous request", i+1, addedBits, last)
		}
		last = addedBits
	}
	if last != maxAddedBits {
		t.Errorf("20,000 requests: got %d added bits, want %d", last, maxAddedBits)
	}
	if addedBits := p.count(flood, began.Add(11*time.Second)); addedBits == 0 {
		t.Error("got no added bits 1 s after the flood, want some")
	}
	if addedBits := p.count(flood, began.Add(40*time.Second)); addedBits != 0 {
		t.Errorf("got %d added bits 30 s after the flood, want 0", addedBits)
	}
	if addedBits := p.count(office, began.Add(10*time.Second)); addedBits != 0 {
		t.Errorf("the flood of another address adds %d bits, want 0", addedBits)
	}
	ipv6 := func(host int) netip.Addr { return netip.MustParseAddr("2001:db8::" + strconv.Itoa(host)) }
	addedBits := 0
	for i := range 2 * maxRequestsWithoutAddedBits {
		addedBits = p.count(ipv6(i), began)
	}
	if addedBits == 0 {
		t.Error("got no added bits for a flood from one /64, want the /64 counted as one network")
	}
	// Another /48: each request comes from its own /64.
	for i := range 2 * maxRequestsWithoutAddedBits * shop.WideFactor {
		addedBits = p.count(netip.AddrFrom16([16]byte{0xfd, 6: byte(i >> 8), byte(i)}), began)
	}
	if addedBits == 0 {
		t.Error("got no added bits for a flood from one /48, want the /48 counted as one network")
	}
	for i := range 4 * maxRequestsWithoutAddedBits {
		if p.count(netip.Addr{}, began.Add(time.Duration(i))) != 0 {
			t.Fatal("an unknown address gets added bits, want 0")
		}
	}
}

// For arbitrary input, a pass is accepted only if it was signed with the key, and a solution only if it solves the
// task.
func FuzzPass(f *testing.F) {
	const sale, user, now, until = shop.ID(7), shop.ID(42), shop.Millis(1_000_000), shop.Millis(1_120_000)
	pass, task := testPasses.issue(sale, user, now, until), testPasses.newTask(sale, user, now, MinWorkBits)
	f.Add(pass, Solve(task.Text, task.Bits))
	f.Add(task.Text, Solve(task.Text, task.Bits))
	f.Add(task.Text, "01")
	f.Add(task.Text[:20], "-1")
	f.Add(otherPasses.issue(sale, user, now, until), "18446744073709551616")
	f.Fuzz(func(t *testing.T, text, nonce string) {
		if issued := testPasses.Issued(text, sale, user, now+1); (issued != 0) != (text == pass) {
			t.Fatalf("pass %q: got the instant %d, want only the signed pass accepted", text, issued)
		}
		gotPass, _, ok := testPasses.passForWork(text, nonce, sale, user, now+1)
		valid := text == task.Text && isNonce(nonce) && Solves(text, nonce, task.Bits)
		if ok != valid || valid != (gotPass != "") {
			t.Fatalf("task %q, solution %q: got accepted %v and pass %q, want a pass only for a valid solution", text, nonce, ok, gotPass)
		}
	})
}
