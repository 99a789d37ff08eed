package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"stampede/app/board"
	"stampede/app/shop"
)

const (
	statusWidth   = 80 // columns of a common terminal
	partitionRows = 16 // above this number, idle partitions are omitted
)

// boardText formats the board in 80 columns.
func boardText(b *board.Board) string {
	var w lines
	sockets := 0
	for _, n := range b.Nodes {
		sockets += n.Sockets
	}
	w.add("%s   %d nodes, %d sockets", b.Now.Time().Local().Format(time.DateTime), len(b.Nodes), sockets)
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
	for _, a := range b.Alarms {
		w.add("")
		w.wrap("! "+a.Name+": ", a.Message+" Since "+a.Since.Time().Local().Format(time.TimeOnly)+".")
		w.wrap("  ", a.Do)
		w.wrap("  ", a.Link)
	}
	return w.String()
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

// wrap writes a text after its head and wraps it.
func (l *lines) wrap(head, text string) {
	indent := strings.Repeat(" ", utf8.RuneCountInString(head))
	line := head
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > statusWidth {
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
		l.add("\nno open and no next sale")
		return
	}
	l.add("\n%-22s %-8s %8s %7s %7s %8s %8s", "SALE", "", "STOCK", "HELD", "SOLD", "ORDERS/S", "WATCHING")
	for _, s := range sales {
		phase := string(s.Phase)
		if s.Paused {
			phase = "paused"
		}
		l.add("%s %-8s %8d %7d %7d %8s %8d", cell(s.Name, 22), phase, s.Stock, s.Held, s.Sold, number(s.Rate), s.Watching)
	}
}

func (l *lines) partitions(all []board.PartitionFigures) {
	l.add("\n%-10s %10s %10s %12s %10s %10s", "PARTITION", "LAG", "PENDING", "OLDEST", "DEAD", "UNPAID")
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
	l.add("\n%-16s %-18s %7s %5s %6s %7s %15s", "NODE", "ROLES", "SOCKETS", "CPU", "HEAP", "UP", "VERSION")
	for _, n := range all {
		l.add("%s %-18s %7d %5.2f %5dM %7s %15s", cell(n.Name, 16), strings.Join(n.Roles, ","), n.Sockets, n.CPU,
			n.Heap>>20, durationText(time.Duration(n.UpSeconds)*time.Second), clipTo(n.Version, 15))
	}
}

// cell cuts or pads a text to a width.
func cell(s string, width int) string {
	s = clipTo(s, width)
	return s + strings.Repeat(" ", width-columns(s))
}

// clipTo cuts a text at a width in terminal columns. Runes from U+1100 on count as two columns.
func clipTo(s string, width int) string {
	wide := 0
	for at, r := range s {
		wide += columnsOf(r)
		if r == '\n' {
			wide = 0
		}
		if wide > width {
			return s[:at]
		}
	}
	return s
}

func columns(s string) (n int) {
	for _, r := range s {
		n += columnsOf(r)
	}
	return n
}

func columnsOf(r rune) int {
	if r >= 0x1100 {
		return 2
	}
	return 1
}

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
