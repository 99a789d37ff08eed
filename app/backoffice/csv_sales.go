package backoffice

import (
	"context"
	"strconv"
	"strings"
	"time"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// salesHead is the header of the table of sales. Prices are in yuan. The columns slot, opens and closes have local
// times of the shop. A new sale refers to its slot by slot_id or by opening time, and to its product by product_id or
// by name.
var salesHead = []string{
	"id", "version", "slot_id", "slot", "product_id", "product", "price", "stock", "limit", "cap", "opens", "closes",
	"challenge", "position", "archived",
}

const (
	minuteFormat = "2006-01-02 15:04"
	secondFormat = "2006-01-02 15:04:05"
)

// ExportSales returns the sales of one slot, or of all slots (0), as a table. It includes archived sales and omits
// hidden ones.
func (sc Schedule) ExportSales(ctx context.Context, slot shop.ID) ([]byte, error) {
	lines, err := tableLines(func(archived bool, page int) ([]store.SaleRecord, bool, error) {
		q := store.SalesQuery{Slot: slot, Archived: archived, Page: page, Size: tablePage}
		return sc.Store.Sales().SaleRecords(ctx, q)
	}, sc.saleLine)
	return writeTable(salesHead, lines), shop.Unavailable("sales", err)
}

// saleLine returns the cells of a sale; nil for a hidden sale.
func (sc Schedule) saleLine(s *store.SaleRecord) []string {
	if s.Hidden {
		return nil
	}
	return []string{
		s.ID.String(), strconv.FormatInt(s.Version, 10), s.Slot.ID.String(), sc.localTime(s.Slot.OpensAt, minuteFormat),
		s.Product.ID.String(), s.Product.Name, shop.FormatFen(s.PriceFen), strconv.FormatInt(s.Initial, 10),
		strconv.Itoa(s.Limit), strconv.Itoa(s.Cap), sc.localTime(s.OpensAt, secondFormat),
		sc.localTime(s.ClosesAt, secondFormat),
		string(s.Challenge), strconv.Itoa(s.Position), yesNo(s.ArchivedAt != 0),
	}
}

// localTime formats an instant as local time of the shop.
func (sc Schedule) localTime(at shop.Millis, form string) string {
	return at.Time().In(sc.Zone).Format(form)
}

// Instant parses a local time of the shop, like 2026-11-21 10:00. BadRequest: it is not a time, or the local clock
// skips or repeats it.
func (sc Schedule) Instant(text string) (shop.Millis, error) {
	for _, form := range []string{secondFormat, minuteFormat} {
		local, err := time.Parse(form, text)
		if err != nil {
			continue
		}
		at, err := instantOf(local, local.Hour()*60+local.Minute(), sc.Zone)
		return at + shop.Millis(local.Second()*1000), err
	}
	return 0, shop.Fail(shop.BadRequest, "must be a time like 2026-11-21 10:00")
}

// ImportSales creates the sales of lines without an id and changes the sales of lines with an id: all of them or none.
// A dry run reports all problems.
func (sc Schedule) ImportSales(
	ctx context.Context, actor journal.Actor, file []byte,
) (ImportReport, error) {
	t, err := readTable(file, salesHead)
	if err != nil {
		return ImportReport{}, err
	}
	var imported []shop.ID
	report, err := sc.importTable(ctx, actor, "sales", t,
		func(ctx context.Context, tx *store.Store, t *table, r *ImportReport) (err error) {
			imported, err = sc.importSales(ctx, tx, t, r)
			return err
		})
	if err == nil {
		sc.callOnSale(ctx, &actor, imported...)
	}
	return report, err
}

// offers indexes the slots, products and sales to which the lines of a table refer. A table may have 10,000 lines, so
// every lookup is by key.
type offers struct {
	slots          map[shop.ID]shop.Slot
	slotsByOpening map[shop.Millis]shop.Slot
	byID           map[shop.ID]shop.Product // products that are not archived
	byName         map[string][]shop.Product
	sales          map[shop.ID]store.SaleRecord
}

// importSales imports the lines within an operation and records errors in the table. It returns the ids of the new and
// changed sales.
func (sc Schedule) importSales(
	ctx context.Context, tx *store.Store, t *table, r *ImportReport,
) ([]shop.ID, error) {
	o, err := sc.readOffers(ctx, tx, t)
	if err != nil {
		return nil, err
	}
	lines := &lineReader[store.SaleRecord]{
		kind: "sale", existing: o.sales, check: sc.checkLine,
		version:   func(s store.SaleRecord) int64 { return s.Version },
		newRecord: func(line *tableLine) (store.SaleRecord, bool) { return sc.newSaleOf(t, line, o) },
		fill:      func(line *tableLine, s *store.SaleRecord) { sc.fillSale(t, line, s) },
		same:      func(before, after *store.SaleRecord) bool { return len(differences(before, after)) == 0 },
	}
	drafts, changed := lines.read(t, r)
	if len(t.problems) > 0 {
		return nil, nil
	}
	return sc.writeSales(ctx, tx, drafts, changed)
}

// checkLine rejects invalid terms and changes that are no longer allowed.
func (sc Schedule) checkLine(_ *tableLine, before, after *store.SaleRecord) error {
	if after.ID != 0 {
		return sc.checkEdit(before, after)
	}
	if after.Cap == 0 {
		after.Cap = DefaultCap(after.Limit)
	}
	return sc.checkSale(after)
}

// writeSales writes the new and the changed sales. It distributes new sales over the partitions like CreateSale.
func (sc Schedule) writeSales(
	ctx context.Context, tx *store.Store, drafts, changed []store.SaleRecord,
) ([]shop.ID, error) {
	var ids []shop.ID
	sales := make([]shop.Sale, len(drafts))
	partition := emptiestPartitions(tx)
	for i := range drafts {
		var err error
		if drafts[i].ID, err = sc.Mint(); err != nil {
			return nil, err
		}
		if drafts[i].Partition, err = partition(ctx, drafts[i].Slot.ID); err != nil {
			return nil, err
		}
		sales[i] = saleOf(&drafts[i])
		ids = append(ids, drafts[i].ID)
	}
	if len(sales) > 0 {
		if err := tx.Sales().AddSales(ctx, sales); err != nil {
			return nil, err
		}
	}
	if err := tx.Sales().SaveSales(ctx, changed...); err != nil {
		return nil, err
	}
	for i := range changed {
		ids = append(ids, changed[i].ID)
	}
	return ids, nil
}

// emptiestPartitions returns a function that picks the partition of each new sale of a slot: first the partition with
// the fewest sales, then round robin.
func emptiestPartitions(tx *store.Store) func(ctx context.Context, slot shop.ID) (partition int, err error) {
	next, partitions := make(map[shop.ID]int), 0
	return func(ctx context.Context, slot shop.ID) (partition int, err error) {
		partition, started := next[slot]
		if !started {
			if partition, partitions, err = tx.Sales().EmptiestPartition(ctx, slot); err != nil {
				return 0, err
			}
		}
		next[slot] = (partition + 1) % partitions
		return partition, nil
	}
}

// readOffers reads the slots, sales and products to which the lines refer.
func (sc Schedule) readOffers(ctx context.Context, tx *store.Store, t *table) (*offers, error) {
	now := sc.Now()
	slots, err := tx.Catalogue().LockSlots(ctx, now, now.Add(maxAhead))
	if err != nil {
		return nil, err
	}
	found, err := tx.Sales().SalesByID(ctx, idsOf(t))
	if err != nil {
		return nil, err
	}
	o := &offers{
		slots: make(map[shop.ID]shop.Slot, len(slots)), slotsByOpening: make(map[shop.Millis]shop.Slot, len(slots)),
		byID: make(map[shop.ID]shop.Product), byName: make(map[string][]shop.Product), sales: make(
			map[shop.ID]store.SaleRecord, len(found),
		),
	}
	for _, s := range slots {
		o.slots[s.ID], o.slotsByOpening[s.OpensAt] = s, s
	}
	for _, s := range found {
		setPhases(&s, now)
		o.sales[s.ID] = s
	}
	var ids []shop.ID
	var names []string
	for i := range t.lines {
		if id, err := shop.ParseID(t.lines[i].cells["product_id"]); err == nil {
			ids = append(ids, id)
		} else if name := t.lines[i].cells["product"]; name != "" {
			names = append(names, name)
		}
	}
	products, err := tx.Catalogue().ProductsByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	named, err := tx.Catalogue().ProductsByName(ctx, names)
	for _, p := range append(products, named...) {
		if _, twice := o.byID[p.ID]; !twice && p.ArchivedAt == 0 {
			o.byID[p.ID] = p.Product
			o.byName[p.Name] = append(o.byName[p.Name], p.Product)
		}
	}
	return o, err
}

// newSaleOf starts a sale with the slot and the product of a line.
func (sc Schedule) newSaleOf(t *table, line *tableLine, o *offers) (s store.SaleRecord, ok bool) {
	slot, err := sc.slotOf(line, o)
	if err != nil {
		t.addProblem(line, "slot", shop.AsError(err).Message)
	}
	product, productErr := productOf(line, o)
	if productErr != nil {
		t.addProblem(line, "product", shop.AsError(productErr).Message)
	}
	return store.SaleRecord{
		Slot: slot, Product: product, OpensAt: slot.OpensAt, ClosesAt: slot.ClosesAt, Challenge: shop.ChallengeNone,
		Limit: 1,
	}, err == nil && productErr == nil
}

func (sc Schedule) slotOf(line *tableLine, o *offers) (shop.Slot, error) {
	var slot shop.Slot
	var exists bool
	if id, err := shop.ParseID(line.cells["slot_id"]); err == nil {
		slot, exists = o.slots[id]
	} else {
		opens, err := sc.Instant(line.cells["slot"])
		if err != nil {
			return shop.Slot{}, err
		}
		slot, exists = o.slotsByOpening[opens]
	}
	if !exists {
		return shop.Slot{}, shop.Fail(shop.BadRequest, "no such current or future slot: create it first")
	}
	return slot, nil
}

// productOf finds the product of a line by id, or by name if the line has no id.
func productOf(line *tableLine, o *offers) (shop.Product, error) {
	if id, err := shop.ParseID(line.cells["product_id"]); err == nil {
		if p, exists := o.byID[id]; exists {
			return p, nil
		}
		return shop.Product{}, shop.Fail(shop.BadRequest, "there is no such product")
	}
	found := o.byName[line.cells["product"]]
	switch len(found) {
	case 0:
		return shop.Product{}, shop.Fail(shop.BadRequest, "there is no such product")
	case 1:
		return found[0], nil
	}
	return shop.Product{}, shop.Fail(shop.BadRequest, strconv.Itoa(len(found))+" products have that name: use the column product_id")
}

// fillSale sets the fields of a sale from a line. Missing columns and empty cells leave a field unchanged.
func (sc Schedule) fillSale(t *table, line *tableLine, s *store.SaleRecord) {
	for column, cell := range line.cells {
		if cell == "" {
			continue
		}
		var err error
		switch column {
		case "price":
			s.PriceFen, err = parseYuan(cell)
		case "stock":
			s.Initial, err = parseWhole(cell)
		case "limit":
			s.Limit, err = parseSmall(cell)
		case "cap":
			s.Cap, err = parseSmall(cell)
		case "position":
			s.Position, err = parseSmall(cell)
		case "opens":
			s.OpensAt, err = sc.Instant(cell)
		case "closes":
			s.ClosesAt, err = sc.Instant(cell)
		case "challenge":
			s.Challenge, err = shop.ParseChallenge(strings.ToLower(cell))
		case "archived":
			err = sc.fillArchived(&s.ArchivedAt, cell)
		case "slot_id":
			if s.ID != 0 && cell != s.Slot.ID.String() {
				err = shop.Fail(shop.BadRequest, "the slot of a sale cannot change: copy the sale")
			}
		case "product_id":
			if s.ID != 0 && cell != s.Product.ID.String() {
				err = shop.Fail(shop.BadRequest, "the product of a sale cannot change: create another sale")
			}
		}
		if err != nil {
			t.addProblem(line, column, shop.AsError(err).Message)
		}
	}
}

// parseWhole parses a non-negative integer.
func parseWhole(text string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || !shop.Digits(text) {
		return 0, shop.Fail(shop.BadRequest, "must be a whole number")
	}
	return n, nil
}

func parseSmall(text string) (int, error) {
	n, err := parseWhole(text)
	if err == nil && n > maxPosition {
		err = shop.Fail(shop.BadRequest, "is too large")
	}
	return int(n), err
}
