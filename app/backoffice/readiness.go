package backoffice

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"stampede/app/board"
	"stampede/app/catalog"
	"stampede/app/payment"
	"stampede/app/shop"
	"stampede/app/store"
	"stampede/streams"
)

// CheckState is the result of a check.
type CheckState string

// The states of a check. A sale is ready if no check fails.
const (
	CheckOK   CheckState = "ok"
	CheckWarn CheckState = "warn"
	CheckFail CheckState = "fail"
)

// Check is one entry of a checklist.
type Check struct {
	Name    string     `json:"name"`
	State   CheckState `json:"state"`
	Code    CheckCode  `json:"code"`             // the finding, for translations
	Of      Facts      `json:"values,omitempty"` // values of the finding
	Message string     `json:"message"`          // the finding in English
	Do      string     `json:"do,omitempty"`     // the recommended action
	Link    string     `json:"link"`             // the section of the runbook
}

// Readiness is the checklist of a sale before it opens.
type Readiness struct {
	OK     bool             `json:"ok"` // no check fails
	Sale   store.SaleRecord `json:"sale"`
	Checks []Check          `json:"checks"`
}

// Checklist checks whether a sale can open.
type Checklist struct {
	Service *CatalogueService
	Redis   *streams.Inventory
	Gateway payment.Gateway // nil: payments are impossible
	Backlog int64           // limit of waiting reservations per partition
	// Durability returns the settings of the stores that are weaker than the guarantees of the shop require, and the
	// state of their replicas.
	Durability func(ctx context.Context) ([]Check, error)
	// Mail reports whether a mail server is configured, and how many e-mails could not be sent.
	Mail func(ctx context.Context) (server bool, dead int64, err error)
}

const (
	// checkTimeout is the timeout of one check: a store that does not respond is a finding.
	checkTimeout = 3 * time.Second
	// clockWarn and clockFail limit the difference between clocks.
	clockWarn = 2 * time.Second
	clockFail = 30 * time.Second
)

// checkSections maps each check to a section of the runbook.
var checkSections = map[string]string{
	"offer":      "setting-up-a-sale",
	"stock":      "stock-audit",
	"partition":  "redis-data-loss",
	"writes":     "redis-rejects-writes",
	"backlog":    "the-lag-grows",
	"nodes":      "a-node-is-not-ready",
	"clock":      "setting-up-a-sale",
	"payment":    "payments",
	"mail":       "e-mail",
	"durability": "durability-of-the-stores",
}

// Readiness runs all checks for a sale. NotFound: no such sale.
func (c *Checklist) Readiness(ctx context.Context, id shop.ID) (Readiness, error) {
	sale, err := Schedule{c.Service}.SaleRecord(ctx, id)
	if err != nil {
		return Readiness{}, err
	}
	product, err := Products{c.Service}.ProductRecord(ctx, sale.Product.ID)
	if err != nil {
		return Readiness{}, err
	}
	r := Readiness{Sale: sale, OK: true}
	for _, check := range []struct {
		name string
		run  func(ctx context.Context, s *store.SaleRecord) []Check
	}{
		{"offer", func(context.Context, *store.SaleRecord) []Check { return checkOffer(&sale, &product) }},
		{"stock", c.stock},
		{"partition", c.partition},
		{"writes", c.writes},
		{"backlog", c.backlog},
		{"nodes", c.nodes},
		{"clock", c.clock},
		{"payment", c.payment},
		{"mail", c.mail},
		{"durability", c.durability},
	} {
		for _, found := range c.run(ctx, &sale, check.run) {
			if found.Name == "" {
				found.Name = check.name
			}
			found.Link = board.Runbook + checkSections[check.name]
			r.Checks = append(r.Checks, found)
			r.OK = r.OK && found.State != CheckFail
		}
	}
	return r, nil
}

func (c *Checklist) run(
	ctx context.Context, s *store.SaleRecord, check func(ctx context.Context, s *store.SaleRecord) []Check,
) []Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	return check(ctx, s)
}

func passed(code CheckCode, facts Facts, format string, args ...any) []Check {
	return []Check{{State: CheckOK, Code: code, Of: facts, Message: fmt.Sprintf(format, args...)}}
}

func warned(code CheckCode, facts Facts, do, format string, args ...any) []Check {
	return []Check{{State: CheckWarn, Code: code, Of: facts, Message: fmt.Sprintf(format, args...), Do: do}}
}

func failed(code CheckCode, facts Facts, do, format string, args ...any) []Check {
	return []Check{{State: CheckFail, Code: code, Of: facts, Message: fmt.Sprintf(format, args...), Do: do}}
}

// unreadable returns the finding of a check that could not read its data. It hides the cause, because the cause
// contains host names.
func unreadable(subject string) []Check {
	return failed(FoundUnreadable, Facts{"what": subject},
		"Check that the stores respond: stampede checkconfig, and the log of the node",
		"cannot read %s right now", subject)
}

// checkOffer checks the data that buyers see, and whether they can buy.
func checkOffer(s *store.SaleRecord, p *store.ProductRecord) []Check {
	switch {
	case s.ArchivedAt != 0:
		return failed(FoundArchived, nil, "Restore it", "the sale is archived and not visible")
	case s.Phase == shop.Ended:
		return failed(FoundEnded, nil, "Copy it to another slot", "the sale is over")
	case s.Paused:
		return failed(FoundPaused, nil, "Resume it", "the sale is paused, so buys are rejected")
	}
	var found []Check
	if p.ArchivedAt != 0 {
		found = append(found, warned(FoundProductArchived, nil, "Restore the product, or archive the sale",
			"the product is archived")...)
	}
	if len(p.Images) == 0 {
		found = append(found, warned(FoundNoPicture, nil, "Upload a picture", "the product has no picture")...)
	}
	if p.ListPriceFen > 0 && s.PriceFen >= p.ListPriceFen {
		found = append(found, warned(FoundPriceNotReduced,
			Facts{"price_fen": s.PriceFen, "list_price_fen": p.ListPriceFen}, "Check both prices",
			"the sale price, %s, is not below the list price, %s", shop.FormatFen(s.PriceFen), shop.FormatFen(p.ListPriceFen))...)
	}
	if int64(s.Limit) > s.Initial+s.Added-s.Withdrawn {
		found = append(found, warned(FoundLimitAboveStock, nil, "Lower the limit",
			"the limit per buyer exceeds the stock")...)
	}
	if len(found) == 0 {
		units := s.Initial + s.Added
		return passed(FoundOffer,
			Facts{"product": p.Name, "price_fen": s.PriceFen, "units": units, "limit": s.Limit},
			"%s at %s yuan; units: %d; limit per buyer: %d", p.Name, shop.FormatFen(s.PriceFen), units, s.Limit)
	}
	return found
}

// stock compares the counters in Redis with the terms in the database.
func (c *Checklist) stock(ctx context.Context, s *store.SaleRecord) []Check {
	counters, err := c.Redis.Stock().Counters(ctx, []shop.SaleRef{{ID: s.ID, Partition: s.Partition}})
	if err != nil || len(counters) != 1 {
		return unreadable("the stock")
	}
	n := counters[0]
	opensIn := s.OpensAt.Sub(c.Service.Now())
	switch {
	case !n.Loaded && opensIn > catalog.WarmAhead:
		return passed(FoundLoadedLater, nil, "the sale is loaded five minutes before it opens")
	case !n.Loaded && opensIn > catalog.WarmAhead/2:
		return warned(FoundNotLoadedYet, nil, "Check again in a minute", "the sale is not loaded yet")
	case !n.Loaded:
		return failed(FoundNotLoaded, nil,
			"Check that a node with the role api runs. Search its log for warming up", "the sale is not loaded")
	case n.Initial != s.Initial || n.Added != s.Added || n.Stock+n.Held+n.Sold+n.Withdrawn != n.Initial+n.Added:
		return failed(FoundStockDiffers, Facts{
			"redis_initial": n.Initial, "redis_added": n.Added, "initial": s.Initial, "added": s.Added,
		}, "Run stampede audit", "units in Redis: %d + %d; units in the database: %d + %d", n.Initial, n.Added, s.Initial, s.Added)
	}
	return passed(FoundStock, Facts{"stock": n.Stock, "held": n.Held, "sold": n.Sold},
		"units: %d free, %d held, %d sold", n.Stock, n.Held, n.Sold)
}

// partition compares the epoch of the sale's partition in Redis with the epoch in the database.
func (c *Checklist) partition(ctx context.Context, s *store.SaleRecord) []Check {
	partition := s.Partition
	const do = "Wait some seconds for the recovery. If it does not end, search the log for 'check partitions'"
	state, err := c.Redis.Recovery().State(ctx, partition)
	if err != nil {
		return unreadable("the partition")
	}
	epoch, _, err := c.Service.Store.Partitions().PartitionEpoch(ctx, partition)
	if err != nil {
		return unreadable("the epoch of the partition")
	}
	facts := Facts{"partition": partition}
	switch {
	case !state.Exists:
		return failed(FoundNoPartition, facts, do, "partition %d is not in Redis", partition)
	case state.Recovering:
		return failed(FoundRecovering, facts, do, "partition %d is being recovered", partition)
	case state.Epoch != epoch:
		return failed(FoundEpochsDiffer, Facts{"partition": partition, "redis": state.Epoch, "database": epoch}, do,
			"partition %d is at epoch %d in Redis and %d in the database", partition, state.Epoch, epoch)
	}
	return passed(FoundPartition, Facts{"partition": partition, "epoch": epoch}, "partition %d is at epoch %d",
		partition, epoch)
}

// writes fails if the sale's partition rejects writes. It ignores unreadable figures, because backlog reports them.
func (c *Checklist) writes(ctx context.Context, s *store.SaleRecord) []Check {
	all, err := c.Redis.Figures().PartitionFigures(ctx)
	if err != nil || s.Partition >= len(all) || !all[s.Partition].Rejects {
		return nil
	}
	return failed(FoundWritesRejected, Facts{"partition": s.Partition},
		"Check that the disk and the memory of Redis are not full",
		"partition %d rejects writes, so buys are rejected", s.Partition)
}

// backlog checks how many reservations wait for the database.
func (c *Checklist) backlog(ctx context.Context, s *store.SaleRecord) []Check {
	all, err := c.Redis.Figures().PartitionFigures(ctx)
	if err != nil || s.Partition >= len(all) || all[s.Partition].Unreachable {
		return unreadable("the backlog")
	}
	f := &all[s.Partition]
	const do = "Run stampede status. Check that workers run, and check the database"
	waiting := f.Lag + f.Pending
	facts := Facts{"waiting": waiting}
	switch {
	case waiting >= c.Backlog/2:
		return failed(FoundBacklogFull, Facts{"waiting": waiting, "most": c.Backlog}, do,
			"reservations that wait for the database: %d; at %d, buys are rejected", waiting, c.Backlog)
	case waiting >= c.Backlog/10:
		return warned(FoundBacklogGrows, facts, do, "reservations that wait for the database: %d", waiting)
	case f.Dead > 0:
		return warned(FoundDeadLetters, Facts{"dead": f.Dead}, "Run stampede dead list",
			"dead letters of the partition that need a decision: %d", f.Dead)
	}
	return passed(FoundBacklog, facts, "reservations that wait for the database: %d", waiting)
}

// nodes checks the number of nodes per role.
func (c *Checklist) nodes(ctx context.Context, _ *store.SaleRecord) []Check {
	nodes, err := c.Redis.Figures().NodeFigures(ctx)
	if err != nil {
		return unreadable("which nodes there are")
	}
	var found []Check
	for _, required := range []struct{ role, does string }{
		{"api", "serves shoppers"}, {"worker", "writes orders"}, {"sweeper", "expires unpaid orders"},
	} {
		var names []string
		for _, n := range nodes {
			if slices.Contains(n.Roles, required.role) {
				names = append(names, n.Name)
			}
		}
		switch len(names) {
		case 0:
			found = append(found, failed(FoundNoNode, Facts{"role": required.role},
				"Start a node with the role "+required.role, "no node %s", required.does)...)
		case 1:
			found = append(found, warned(FoundOneNode, Facts{"role": required.role, "node": names[0]},
				"Start another node with the role "+required.role+", so that one can fail",
				"only %s %s", names[0], required.does)...)
		default:
			found = append(found, passed(FoundNodes, Facts{"role": required.role, "nodes": len(names)},
				"%d nodes: each %s", len(names), required.does)...)
		}
		found[len(found)-1].Name = "node: " + required.role
	}
	return found
}

// clock compares the clocks of Redis, the database and this node. The clock of Redis decides; the other clocks are only
// used to display and record times.
func (c *Checklist) clock(ctx context.Context, _ *store.SaleRecord) []Check {
	redis, err := c.Redis.Now(ctx)
	if err != nil {
		return unreadable("the clock of Redis")
	}
	local := shop.MillisOf(time.Now())
	database, err := c.Service.Store.Durability().Time(ctx)
	if err != nil {
		return unreadable("the clock of the database")
	}
	difference := max(redis.Sub(local).Abs(), redis.Sub(database).Abs())
	const do = "Synchronize all machines with a time server. The clock of Redis decides when a sale opens"
	facts := Facts{"apart_ms": difference.Milliseconds()}
	const message = "the clocks of Redis, the database and this node differ by %v"
	switch {
	case difference > clockFail:
		return failed(FoundClocksApart, facts, do, message, difference.Round(time.Second))
	case difference > clockWarn:
		return warned(FoundClocksApart, facts, do, message, difference.Round(time.Millisecond))
	}
	return passed(FoundClocks, facts, message, difference.Round(time.Millisecond))
}

// payment queries the gateway for a trade that does not exist. Any definite response passes.
func (c *Checklist) payment(ctx context.Context, s *store.SaleRecord) []Check {
	if c.Gateway == nil {
		return failed(FoundNoGateway, nil, "Set STAMPEDE_ALIPAY_APP_ID and the related settings",
			"no payment gateway is set, so orders cannot be paid")
	}
	_, err := c.Gateway.Query(ctx, s.ID)
	if errors.Is(err, shop.ErrTransient) {
		return failed(FoundGatewayUnreachable, nil, "Check that this node can reach the gateway",
			"the payment gateway does not respond")
	}
	if err != nil {
		return warned(FoundGatewayRejects, nil, "Run stampede checkconfig", "the payment gateway responds, but rejects the queries")
	}
	return passed(FoundGateway, nil, "the payment gateway responds")
}

func (c *Checklist) mail(ctx context.Context, _ *store.SaleRecord) []Check {
	server, dead, err := c.Mail(ctx)
	switch {
	case err != nil:
		return unreadable("mails")
	case !server:
		return warned(FoundNoMailServer, nil, "Set STAMPEDE_SMTP_URL", "no mail server is set; e-mails are written to files")
	case dead > 0:
		return warned(FoundDeadMails, Facts{"dead": dead}, "Run stampede mail list", "e-mails that could not be sent: %d", dead)
	}
	return passed(FoundMails, nil, "a mail server is set, and all e-mails were sent")
}

func (c *Checklist) durability(ctx context.Context, _ *store.SaleRecord) []Check {
	found, err := c.Durability(ctx)
	if err != nil {
		return unreadable("how durable the stores are")
	}
	if len(found) == 0 {
		return passed(FoundDurable, nil, "both stores keep all confirmed data")
	}
	return found
}
