package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"stampede/app/admission"
	"stampede/app/order"
	"stampede/app/shop"
	"stampede/app/test/kit"
	"stampede/app/wsclient"
)

// addChallengeSale adds a sale that is open now and requires the challenge.
func (s *testShop) addChallengeSale(units int64, limit int, kind shop.Challenge) shop.Sale {
	s.t.Helper()
	sale := s.open(units, limit)
	s.must(s.store.Sales().SetChallenge(kit.Context(s.t), sale.ID, kind))
	return sale
}

// buyWithPass checks that a buy with the pass is accepted.
func (c *client) buyWithPass(pass string, sale shop.ID, key string) order.Receipt {
	c.t.Helper()
	receipt, err := c.BuyWithPass(pass, sale, 1, key)
	if err != nil {
		c.t.Fatalf("buy %s: %v", key, err)
	}
	return receipt
}

// requirePassRequired checks that a buy with the pass is rejected with pass_required.
func (c *client) requirePassRequired(pass string, sale shop.ID, key string) {
	c.t.Helper()
	_, err := c.BuyWithPass(pass, sale, 1, key)
	requireError(c.t, shop.PassRequired, err)
}

// Work is bound to one user and one sale, and its solution is verified. A wrong solution, or the solution of another
// user, gives no pass. A repeated solution gives the same pass, also over HTTP and on another node. All these passes
// allow one buy.
func TestWorkPassIsBoundToUserAndSale(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	sale, other := s.addChallengeSale(20, 3, shop.ChallengeWork), s.addChallengeSale(20, 3, shop.ChallengeWork)
	s.must(s.store.Settings().SetWorkBits(kit.Context(t), 10))
	a, b := s.start(), s.start()
	user, stranger := kit.NewID(), kit.NewID()
	buyer, _ := login(t, a, user, "")
	otherBuyer, _ := login(t, b, stranger, "")

	task := buyer.task(sale.ID, 10)
	nonce := admission.Solve(task.Text, task.Bits)
	solve := func(c *client, sale shop.ID, task, nonce string) func() error {
		return func() error { _, err := c.SolvePass(sale, task, nonce); return err }
	}
	for name, submit := range map[string]func() error{
		"a wrong nonce":            solve(buyer, sale.ID, task.ID, wrongNonce(task)),
		"the task of another user": solve(otherBuyer, sale.ID, task.ID, nonce),
		"the task of another sale": solve(buyer, other.ID, task.ID, nonce),
		"no task":                  solve(buyer, sale.ID, "", nonce),
		"an invented task":         solve(buyer, sale.ID, "easy", admission.Solve("easy", 10)),
		"the task as a pass": func() error {
			_, err := buyer.BuyWithPass(task.ID, sale.ID, 1, "task-as-pass")
			return err
		},
	} {
		if err := submit(); wsclient.CodeOf(err) != shop.PassRequired {
			t.Errorf("%s: got %v, want pass_required", name, err)
		}
	}
	solved, err := buyer.SolvePass(sale.ID, task.ID, nonce)
	s.must(err)
	again := b.solve(t, user, sale.ID, task.ID, nonce)
	if solved.Pass == "" || again != solved {
		t.Fatalf("the same solution gave %+v, then %+v", solved, again)
	}
	buyer.buyWithPass(solved.Pass, sale.ID, "worked-once")
	buyer.requirePassRequired(again.Pass, sale.ID, "worked-twice")
	late, err := buyer.SolvePass(sale.ID, task.ID, nonce)
	s.must(err)
	buyer.requirePassRequired(late.Pass, sale.ID, "worked-late")

	// Nodes apply a changed difficulty or challenge within about a second.
	if out, code := a.run("challenge", "--bits", "12", "--json"); code != 0 || !strings.Contains(out, `"bits": 12`) {
		t.Fatalf("challenge --bits: exit code %d, want 0 and 12 bits:\n%s", code, out)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		result, err := buyer.RequestPass(other.ID)
		return err == nil && result.Task != nil && result.Task.Bits == 12, fmt.Sprintf("%+v, %v", result.Task, err)
	})
	if out, code := a.run("challenge", "--sale", other.ID.String(), "--kind", "none"); code != 0 {
		t.Fatalf("challenge --kind none: exit code %d, want 0:\n%s", code, out)
	}
	kit.Eventually(t, waitTimeout, func() (bool, string) {
		_, err := buyer.BuyWithPass("", other.ID, 1, "nothing-asked")
		return err == nil, fmt.Sprint(err)
	})
	out, code := a.run("challenge", "--sale", "12345", "--kind", "work")
	if code != 1 || !strings.Contains(out, "not_found") {
		t.Errorf("challenge of an unknown sale: exit code %d, want 1 and not_found:\n%s", code, out)
	}
}

// task requests work of the given difficulty.
func (c *client) task(sale shop.ID, bits int) *admission.Task {
	c.t.Helper()
	result, err := c.RequestPass(sale)
	if err != nil || result.Task == nil || result.Task.Kind != shop.ChallengeWork || result.Task.Bits != bits {
		c.t.Fatalf("got %+v, %v; want work of %d bits", result, err, bits)
	}
	return result.Task
}

// wrongNonce returns a nonce that does not solve the task.
func wrongNonce(task *admission.Task) string {
	for n := 0; ; n++ {
		if nonce := fmt.Sprint(n); !admission.Solves(task.Text, nonce, task.Bits) {
			return nonce
		}
	}
}

// solve submits a solution over HTTP.
func (n *node) solve(t *testing.T, user, sale shop.ID, task, nonce string) (result admission.PassResult) {
	t.Helper()
	code, text := n.post("/api/v1/sales/"+sale.String()+"/solve", token(t, user),
		map[string]string{"task": task, "answer": nonce})
	if err := json.Unmarshal(text, &result); err != nil || code != http.StatusOK {
		t.Fatalf("solve: got %d %s (%v), want 200", code, text, err)
	}
	return result
}

// readPicture returns a valid solution of a picture. Tests cannot read the picture, so readPicture replaces the hash in
// Redis by the hash of 246810.
func (s *testShop) readPicture(task string) (result string, err error) {
	id, _, _ := strings.Cut(task, ".")
	sum := sha256.Sum256([]byte(id + ":246810"))
	return "246810", s.redis.SetArgs(context.Background(), "stampede:{captcha}:"+id, hex.EncodeToString(sum[:]),
		redis.SetArgs{Mode: "XX", KeepTTL: true}).Err()
}
