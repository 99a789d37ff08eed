package backoffice

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	// maxParcels limits the lines of a file: operations are serial, and others wait in the meantime.
	maxParcels = 2000
	// parcelsPerBatch is the number of parcels per transaction, which locks their orders.
	parcelsPerBatch = 200
)

// ShipLine is the result of one line of the file.
type ShipLine struct {
	Line    int               `json:"line"` // in the file, from 1
	Order   shop.ID           `json:"order,omitzero"`
	Result  store.ShipOutcome `json:"result"`
	Message string            `json:"message,omitempty"` // the reason of a rejection
}

// ShipReport contains the result of each line.
type ShipReport struct {
	DryRun    bool       `json:"dry_run"` // nothing was changed
	Shipped   int        `json:"shipped"`
	Unchanged int        `json:"unchanged"`
	Failed    int        `json:"failed"`
	Lines     []ShipLine `json:"lines"`
}

// ShipMany records the parcels of a CSV file with the columns order, carrier and tracking. Lines are independent, and a
// repeat of the file changes nothing. Each part of the file is one operation. Its key is derived from the actor's key,
// so a repeat after a crash processes the remaining parts. BadRequest: the file is not such a table.
func (ss *ShippingService) ShipMany(
	ctx context.Context, actor journal.Actor, file []byte, replace bool,
) (ShipReport, error) {
	lines, parcels, err := parseParcels(file)
	if err != nil {
		return ShipReport{}, err
	}
	shipping, err := ss.shipping(ctx, actor, store.Shipping{Replace: replace})
	if err != nil {
		return ShipReport{}, err
	}
	report := ShipReport{DryRun: actor.DryRun, Lines: lines}
	var valid []int // indexes of lines with a parcel
	for i := range lines {
		if lines[i].Result == "" {
			valid = append(valid, i)
		}
	}
	for n, part := range slices.Collect(slices.Chunk(valid, parcelsPerBatch)) {
		batch := shop.Mapped(part, func(line int) store.Parcel { return parcels[line] })
		results, err := ss.shipBatch(ctx, actor, shipping, batch, n)
		if err != nil {
			return ShipReport{}, err
		}
		for i, line := range part {
			report.Lines[line].Result, report.Lines[line].Message = results[i].Result, results[i].Message
		}
	}
	for _, l := range report.Lines {
		switch l.Result {
		case store.ShipDone:
			report.Shipped++
		case store.ShipUnchanged:
			report.Unchanged++
		default:
			report.Failed++
		}
	}
	return report, nil
}

// shipBatch records one part of the parcels.
func (ss *ShippingService) shipBatch(
	ctx context.Context, actor journal.Actor, shipping store.Shipping, parcels []store.Parcel, part int,
) ([]ShipLine, error) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", actor.Key, part))
	actor.Key = "ship-" + hex.EncodeToString(sum[:16])
	var err error
	if shipping.Confirmed, err = ss.confirmPayments(ctx, actor, shipping.At, parcels); err != nil {
		return nil, err
	}
	results, err := store.RunOperationFor[[]ShipLine](ctx, ss.Store, actor,
		func(tx *store.Store) (journal.Operation, error) {
			shipped, err := tx.Shipments().Ship(ctx, shipping, parcels)
			return journal.Operation{Kind: "order.ship_many", Object: "orders", After: shippedIn(shipped), Result: resultsOf(shipped)}, err
		})
	if err != nil || actor.DryRun {
		return results, shop.UnknownOutcome("ship orders", err)
	}
	var ids []shop.ID
	for i := range results {
		if results[i].Result == store.ShipDone {
			ids = append(ids, parcels[i].Order)
		}
	}
	rows, err := ss.Store.Orders().OrdersByID(ctx, ids)
	if err != nil {
		return nil, shop.UnknownOutcome("read shipped orders", err)
	}
	return results, ss.publish(ctx, shipping.At, shop.Pointers(rows)...)
}

func resultsOf(shipped []store.ShippedOrder) []ShipLine {
	out := make([]ShipLine, len(shipped))
	for i := range shipped {
		out[i].Result = shipped[i].Outcome
		if rejection := shipRejection(&shipped[i]); rejection != nil {
			out[i].Message = rejection.Message
		}
	}
	return out
}

// shippedIn returns the changed orders for the journal.
func shippedIn(all []store.ShippedOrder) any {
	done := shop.Where(all, func(s store.ShippedOrder) bool { return s.Outcome == store.ShipDone })
	return map[string]any{"shipped": shop.Mapped(done, func(s store.ShippedOrder) shop.ID { return s.Order.ID })}
}

// parseParcels parses a file, with or without a byte order mark. Lines that cannot be parsed contain an error and have
// no parcel.
func parseParcels(file []byte) (lines []ShipLine, parcels []store.Parcel, err error) {
	r := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(file, []byte("\xEF\xBB\xBF"))))
	r.FieldsPerRecord, r.TrimLeadingSpace = -1, true
	head, err := r.Read()
	if err != nil {
		return nil, nil, shop.Fail(shop.BadRequest, "the file must be CSV with the columns order, carrier and tracking")
	}
	for i := range head {
		head[i] = strings.ToLower(strings.TrimSpace(head[i]))
	}
	columns := [3]int{slices.Index(head, "order"), slices.Index(head, "carrier"), slices.Index(head, "tracking")}
	if slices.Contains(columns[:], -1) {
		return nil, nil, shop.Fail(shop.BadRequest, "the first line must name the columns order, carrier and tracking")
	}
	for {
		cells, err := r.Read()
		if errors.Is(err, io.EOF) {
			return lines, parcels, nil
		}
		var parseErr *csv.ParseError
		if errors.As(err, &parseErr) {
			return nil, nil, shop.Failf(shop.BadRequest, "line %d, column %d: %s", parseErr.Line, parseErr.Column, parseErr.Err)
		}
		if len(lines) == maxParcels {
			return nil, nil, shop.Failf(shop.BadRequest, "the file has more than %d lines: split the file", maxParcels)
		}
		number, _ := r.FieldPos(0)
		line, parcel := ShipLine{Line: number}, store.Parcel{}
		if parcel, err = parcelOf(cells, columns, len(head)); err != nil {
			line.Result, line.Message = store.ShipUnreadable, shop.AsError(err).Message
		}
		line.Order = parcel.Order
		lines, parcels = append(lines, line), append(parcels, parcel)
	}
}

func parcelOf(cells []string, columns [3]int, want int) (p store.Parcel, err error) {
	if len(cells) != want {
		return p, shop.Failf(shop.BadRequest, "the line has %d columns, but the header has %d", len(cells), want)
	}
	if p.Order, err = shop.ParseID(strings.TrimSpace(cells[columns[0]])); err != nil {
		return p, shop.Fail(shop.BadRequest, "order: "+err.Error())
	}
	p.Carrier, p.Tracking = strings.TrimSpace(cells[columns[1]]), strings.TrimSpace(cells[columns[2]])
	return p, checkParcel(&p)
}
