//go:build crashpoints && upgrade

package crash

import (
	"flag"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"stampede/app"
	"stampede/app/test/kit"
)

var before = flag.String("before", "", "the program of the release before (deploy/scripts/upgrade.sh builds it)")

// P2–P6: a shop of the release before is brought to this one while people buy: the schema first, then node by node, so
// that both work side by side; then back, on the schema that stays, and forward again. Entries, rows, tokens and
// frames of each are understood by the other.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if *before == "" {
		t.Fatal("no program of the release before: run deploy/scripts/upgrade.sh")
	}
	w := bareWorld(t, kit.Redis(t), kit.MySQL(t), "STAMPEDE_GUEST_LOGIN=true")
	w.program = *before
	w.command("migrate", "up")
	w.offerAsBefore(5000, 1000, 0)
	w.offerAsBefore(5000, 1000, 1)
	w.invite(40)
	w.morePhones()
	f := &fleet{w: w}
	older := f.add("api", "api", "worker", "sweeper")
	f.enter()
	tr := f.trade(habits{cancels: 20, thinks: 1000})
	f.sells()

	w.program = binary
	of := "SELECT COUNT(*) FROM bun_migrations"
	applied := w.count(of)
	w.command("migrate", "up")
	if between := w.count(of) - applied; between == 0 {
		t.Error("there are no migrations between the release before and this version: nothing was tried")
	} else {
		t.Logf("%d migrations lie between", between)
	}
	f.sells()
	f.stop(older[2]) // what is reserved now, a worker of the newer version writes
	f.sells()
	newer := f.add("api", "worker", "sweeper")
	f.sells()
	w.knowsGuestsOf(older[0].node, newer[0].node)
	w.knowsGuestsOf(newer[0].node, older[0].node)
	newer = append(newer, f.replace(older[0], older[1], older[3])...)

	w.program = *before
	older = f.add("api", "worker", "sweeper")
	f.sells()
	f.stop(newer[1]) // and the other way round
	f.sells()
	w.knowsGuestsOf(newer[0].node, older[0].node)
	f.stop(newer[0])
	for _, m := range newer[2:] {
		f.stop(m)
	}
	f.sells()
	w.command("audit")

	w.program = binary
	f.add("worker")
	f.replace(older...)
	tr.end()
	f.comeBack()
	w.rest(f.with("api")[0].node, "")
}

// replace starts a node for each that is stopped then, one after the other.
func (f *fleet) replace(nodes ...*member) (by []*member) {
	f.w.t.Helper()
	for _, m := range nodes {
		by = append(by, f.add(m.roles)...)
		f.stop(m)
		f.sells()
	}
	return by
}

// sells waits until everybody, on average, has bought twice more.
func (f *fleet) sells() {
	f.w.t.Helper()
	f.w.answered(f.w.memory.answeredSoFar() + 2*len(f.w.people))
	f.healthy()
}

// command runs a command of the program that is under test now, and demands that it succeeds.
func (w *world) command(args ...string) {
	w.t.Helper()
	cmd := exec.CommandContext(kit.Context(w.t), w.program, args...)
	cmd.Env = slices.Concat(os.Environ(), w.settings, []string{"STAMPEDE_JWT_SECRET=" + secret})
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("%s %v: %v\n%s", w.program, args, err, out)
	}
}

// offerAsBefore is offer with no column that the release before did not have.
func (w *world) offerAsBefore(units int64, limit, partition int) {
	w.t.Helper()
	ctx := kit.Context(w.t)
	now := app.MillisOf(time.Now())
	sale := app.Sale{
		ID: kit.NewID(), Partition: partition, PriceFen: 4900, Initial: units, Limit: limit,
		OpensAt: now.Add(-time.Second), ClosesAt: now.Add(time.Hour),
	}
	slot, product := kit.NewID(), kit.NewID()
	if len(w.sales) > 0 {
		slot = w.sales[0].Slot
	} else {
		_, err := w.db.ExecContext(ctx, "INSERT INTO slots (id, opens_at, closes_at) VALUES (?, ?, ?)", slot,
			sale.OpensAt.Add(-time.Hour), sale.ClosesAt)
		w.must(err)
	}
	sale.Slot = slot
	_, err := w.db.ExecContext(ctx, `INSERT INTO products
		(id, category_id, name, list_price_fen, description, rules, created_at) VALUES (?, 0, 'Lamp', 9900, '', '', ?)`,
		product, now)
	w.must(err)
	_, err = w.db.ExecContext(ctx, `INSERT INTO sales (id, slot_id, product_id, position, part, price_fen, initial, added,
		withdrawn, taken, seq, buyer_limit, buyer_cap, opens_at, closes_at, paused, challenge, version, epoch, retired_at, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?, 10000, ?, ?, FALSE, 'none', 1, 0, 0, ?)`,
		sale.ID, slot, product, len(w.sales), partition, sale.PriceFen, units, limit, sale.OpensAt, sale.ClosesAt, now)
	w.must(err)
	w.sales = append(w.sales, sale)
}
