package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mattn/go-runewidth"

	"stampede/app/board"
	"stampede/app/shop"
)

const (
	statusWidth   = 80 // columns of a common terminal
	partitionRows = 16 // above this number, idle partitions are omitted
)

// boardText formats the board in 80 columns, the alarms first. zone is the time zone of the shop.
func boardText(b *board.Board, zone *time.Location) string {
	var w lines
	sockets := 0
	for _, n := range b.Nodes {
		sockets += n.Sockets
	}
	w.alarms(b.Alarms, zone)
	w.add("%s   %d nodes, %d sockets", b.Now.Time().In(zone).Format(time.DateTime+" -07:00"), len(b.Nodes), sockets)
	w.add("buys %s/s   reserved %s/s   confirmed %s/s   errors %s/s",
		number(b.BuysPerS), number(b.ReservedPerS), number(b.ConfirmedPerS), number(b.ErrorsPerS))
	if b.HiddenPerS > 0 {
		w.add("hidden sales: %s/s confirmed, not included", number(b.HiddenPerS))
	}
	if b.LatencyMS.N > 0 {
		w.add("buy to order: %d ms, 99 %% within %d ms", b.LatencyMS.P50, b.LatencyMS.P99)
	}
	if refused := refusals(b); refused != "" {
		w.add("refused: %s", refused)
	}
	w.add("payments: %d open, %d in doubt, %d refunds stuck", b.Payments.Open, b.Payments.InDoubt, b.Payments.RefundsStuck)
	w.sales(b.Sales)
	w.partitions(b.Partitions)
	w.nodes(b.Nodes)
	return w.String()
}

// alarms writes the alarms, each with its remedy.
func (l *lines) alarms(all []board.Alarm, zone *time.Location) {
	for _, a := range all {
		l.wrap("! "+a.Name+": ", a.Message+" Since "+a.Since.Time().In(zone).Format(time.TimeOnly)+".")
		l.wrap("  ", a.Do)
		l.wrap("  ", a.Link)
		l.add("")
	}
}

// refusals lists the error codes of rejected buys with their rates, the most frequent first.
func refusals(b *board.Board) string {
	codes := slices.SortedFunc(maps.Keys(b.RejectedPerS), func(x, y shop.Code) int {
		return cmp.Or(cmp.Compare(b.RejectedPerS[y], b.RejectedPerS[x]), cmp.Compare(x, y))
	})
	parts := make([]string, len(codes))
	for i, code := range codes {
		parts[i] = fmt.Sprintf("%s %s/s", code, number(b.RejectedPerS[code]))
	}
	return strings.Join(parts, "  ")
}

// lines is a text with lines of at most statusWidth columns.
type lines struct{ strings.Builder }

func (l *lines) add(format string, values ...any) {
	l.WriteString(clipTo(fmt.Sprintf(format, values...), statusWidth) + "\n")
}

// head writes an empty line and the heads of a table.
func (l *lines) head(format string, values ...any) {
	l.add("")
	l.add(format, values...)
}

// wrap writes a text after its head and wraps it.
func (l *lines) wrap(head, text string) {
	indent := strings.Repeat(" ", runewidth.StringWidth(head))
	line := head
	for i, word := range strings.Fields(text) {
		if i > 0 && runewidth.StringWidth(line)+1+runewidth.StringWidth(word) > statusWidth {
			l.add("%s", line)
			line = indent + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	l.add("%s", line)
}

func (l *lines) sales(sales []board.Sale) {
	if len(sales) == 0 {
		l.head("no open and no next sale")
		return
	}
	l.head("%-22s %-8s %8s %7s %7s %8s %8s", "SALE", "", "STOCK", "HELD", "SOLD", "ORDERS/S", "WATCHING")
	for _, s := range sales {
		phase := string(s.Phase)
		if s.Paused {
			phase = "paused"
		}
		l.add("%s %-8s %8d %7d %7d %8s %8d", cell(s.Name, 22), phase, s.Stock, s.Held, s.Sold, number(s.Rate), s.Watching)
	}
	if len(sales) == board.MaxSales {
		l.add("further sales are not shown: stampede sale list")
	}
}

func (l *lines) partitions(all []board.PartitionFigures) {
	l.head("%-10s %10s %10s %12s %10s %10s", "PARTITION", "LAG", "PENDING", "OLDEST", "DEAD", "DEADLINES")
	idle := 0
	for _, p := range all {
		if p.Unreachable {
			l.add("%-10d %10s %10s %12s %10s %10s", p.P, "away", "-", "-", "-", "-")
			continue
		}
		if len(all) > partitionRows && p.Lag+p.Pending+p.Dead == 0 {
			idle++
			continue
		}
		l.add("%-10d %10d %10d %12s %10d %10d", p.P, p.Lag, p.Pending, oldest(p.OldestMS), p.Dead, p.Deadlines)
	}
	if idle > 0 {
		l.add("%d more without waiting entries", idle)
	}
}

func (l *lines) nodes(all []board.NodeFigures) {
	l.head("%-16s %-18s %7s %5s %6s %7s %15s", "NODE", "ROLES", "SOCKETS", "CPU", "HEAP", "UP", "VERSION")
	for _, n := range all {
		l.add("%s %-18s %7d %5.2f %5dM %7s %15s", cell(n.Name, 16), strings.Join(n.Roles, ","), n.Sockets, n.CPU,
			n.Heap>>20, durationText(time.Duration(n.UpSeconds)*time.Second), clipTo(n.Version, 15))
	}
}

// cell cuts or pads a text to a width in terminal columns; a Chinese character takes two.
func cell(s string, width int) string { return runewidth.FillRight(clipTo(s, width), width) }

// clipTo cuts a text at a width in terminal columns.
func clipTo(s string, width int) string { return runewidth.Truncate(s, width, "") }

// number formats a value with one decimal, unless it is whole or at least 100.
func number(n float64) string {
	if n >= 100 || n == float64(int64(n)) {
		return fmt.Sprintf("%.0f", n)
	}
	return fmt.Sprintf("%.1f", n)
}

func oldest(ms int64) string {
	if ms == 0 {
		return "-"
	}
	return (time.Duration(ms) * time.Millisecond).Round(100 * time.Millisecond).String()
}

// durationText formats a duration in its largest suitable unit.
func durationText(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", d/time.Second)
}
