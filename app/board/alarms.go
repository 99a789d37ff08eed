package board

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"stampede/app/shop"
)

// Alarm is a problem that an operator must check now. The alert rules of Prometheus (deploy/prometheus/alerts.yml) have
// the same conditions.
type Alarm struct {
	Name    string      `json:"name"`  // one of the Alarm constants
	Since   shop.Millis `json:"since"` // approximate
	Message string      `json:"message"`
	Do      string      `json:"do"`
	Link    string      `json:"link"` // section of the runbook
}

// The names of the alarms.
const (
	AlarmStandstill          = "nothing_moving"
	AlarmGrowingLag          = "lag_grows"
	AlarmRedisUnreachable    = "redis_away"
	AlarmWritesRejected      = "writes_rejected"
	AlarmDatabaseUnreachable = "database_away"
	AlarmEntryStuck          = "entry_stuck"
	AlarmDeadLetters         = "dead_letters"
	AlarmClosed              = "partition_closed"
	AlarmSaleStuck           = "sale_stuck"
	AlarmProblems            = "problems"
	AlarmDatabaseRisk        = "database_at_risk"
	AlarmPaymentsDiffer      = "payments_differ"
	AlarmDatabaseReadOnly    = "database_read_only"
	AlarmDatabaseConnections = "database_connections"
	AlarmRedisSlow           = "redis_slow"
	AlarmRedisSetting        = "redis_setting"
	AlarmRefundsStuck        = "refunds_stuck"
	AlarmPaymentsUndecided   = "payments_undecided"
	AlarmForgedNotifications = "notifications_forged"
	AlarmTradesUnanswered    = "trades_unanswered"
	AlarmPostingsQuarantined = "postings_quarantined"
	AlarmMailsQuarantined    = "mails_quarantined"
	AlarmSalesDiffer         = "sales_differ"
	AlarmPersonalDataStays   = "personal_data_stays"
	AlarmCertificateEnds     = "certificate_ends"
)

const (
	// standstillMin is how long a shop with demand may confirm nothing.
	standstillMin = 10 * time.Second
	// growthMin is how long the lag of a partition may grow with every point.
	growthMin = 30 * time.Second
	// maxDatabaseSilence is how long a node may have no response from the database.
	maxDatabaseSilence = 5 * time.Second
	// stuckAfter is how long an entry may wait for its row. Its stream is not trimmed beyond this entry.
	stuckAfter = 5 * time.Minute
	// SlowRedis is a round trip to Redis that delays buys, and slowMin how long it may last.
	SlowRedis = 100 * time.Millisecond
	slowMin   = 5 * time.Second
	// closedMin is how long a partition may be closed for a recovery.
	closedMin = 10 * time.Second
	// pointGap is the maximum distance between two consecutive points; a larger one ends a streak.
	pointGap = PointEvery + PointEvery/2

	// Runbook is the common prefix of the links in alarms and checks.
	Runbook = "deploy/RUNBOOK.md#"
)

// alarmSections maps each alarm to its section of the runbook.
var alarmSections = map[string]string{
	AlarmStandstill:          "nothing-is-moving",
	AlarmGrowingLag:          "the-lag-grows",
	AlarmRedisUnreachable:    "redis-is-away",
	AlarmWritesRejected:      "redis-rejects-writes",
	AlarmDatabaseUnreachable: "the-database-is-away",
	AlarmEntryStuck:          "an-entry-is-stuck",
	AlarmDeadLetters:         "dead-letters",
	AlarmClosed:              "database-failover-and-restore",
	AlarmSaleStuck:           "recovery-problems",
	AlarmProblems:            "recovery-problems",
	AlarmDatabaseRisk:        "a-database-at-risk",
	AlarmPaymentsDiffer:      "payments",
	AlarmDatabaseReadOnly:    "the-database-rejects-work",
	AlarmDatabaseConnections: "the-database-rejects-work",
	AlarmRedisSlow:           "redis-is-slow",
	AlarmRedisSetting:        "a-setting-of-redis-is-too-weak",
	AlarmRefundsStuck:        "stuck-refunds",
	AlarmPaymentsUndecided:   "payments",
	AlarmForgedNotifications: "forged-notifications",
	AlarmTradesUnanswered:    "payments",
	AlarmPostingsQuarantined: "quarantined-postings",
	AlarmMailsQuarantined:    "e-mail",
	AlarmSalesDiffer:         "mismatched-counters",
	AlarmPersonalDataStays:   "old-orders",
	AlarmCertificateEnds:     "a-certificate-ends",
}

// newAlarm returns an alarm with the link to its section of the runbook.
func newAlarm(name string, since shop.Millis, message, do string) Alarm {
	return Alarm{Name: name, Since: since, Message: message, Do: do, Link: Runbook + alarmSections[name]}
}

// alarmsOf returns the alarms for the last points of the history, the oldest first, and the newest figures.
func alarmsOf(points []Point, b *Board) []Alarm {
	alarms := []Alarm{}
	if since, holds := standstill(points); holds {
		alarms = append(alarms, newAlarm(AlarmStandstill, since,
			"Buys arrive or wait for their rows, but none was confirmed for 10 s.",
			"Check that workers run, that the database responds, and that no row is locked."))
	}
	if partitions, since := growingLags(points); len(partitions) > 0 {
		alarms = append(alarms, newAlarm(AlarmGrowingLag, since, fmt.Sprintf("The lag of %s has grown for 30 s.", partitions),
			"Start more workers, or find out why they are slow. Until then buyers wait longer for their orders."))
	}
	if names, maxSilence := nodesWithoutDatabase(b.Nodes); len(names) > 0 {
		alarms = append(alarms, newAlarm(AlarmDatabaseUnreachable, b.Now.Add(-maxSilence),
			fmt.Sprintf("The database does not respond to %s.", strings.Join(names, ", ")),
			"Restore the database. Reservations wait in Redis. When the backlog is full, buys return busy."))
	}
	alarms = append(alarms, faultAlarms(b)...)
	if partitions, oldest := stuckEntries(b.Partitions); len(partitions) > 0 {
		alarms = append(alarms, newAlarm(AlarmEntryStuck, b.Now.Add(-oldest),
			fmt.Sprintf("The oldest entry of %s has waited for its row for %v, and the stream grows.",
				partitions, oldest.Round(time.Second)),
			"Find the cause, usually a locked row of a sale. Until then the stream is not trimmed."))
	}
	if since, holds := streak(points, 0, func(p *Point) bool { return p.Dead > 0 }); holds {
		alarms = append(alarms, newAlarm(AlarmDeadLetters, since,
			"Orders that could not be written are dead letters.",
			"Read the reasons with `stampede dead list`, then replay or drop the orders."))
	}
	return append(alarms, recoveryAlarms(b)...)
}

// recoveryAlarms returns the alarms about recoveries and about risks that would need one.
func recoveryAlarms(b *Board) (alarms []Alarm) {
	for _, p := range b.Partitions {
		if p.ClosedAt != 0 && b.Now.Sub(p.ClosedAt) > closedMin {
			alarms = append(alarms, newAlarm(AlarmClosed, p.ClosedAt,
				fmt.Sprintf("Partition %d is closed for a recovery that does not end. Buys of its sales return busy.", p.P),
				"Search the log for \"check partitions\". The log has the reason once a minute."))
		}
	}
	for i := range b.Sales {
		if s := &b.Sales[i]; s.Stuck != "" {
			alarms = append(alarms, newAlarm(AlarmSaleStuck, b.Now,
				fmt.Sprintf("Sale %s is stuck after a recovery: %s.", s.ID, s.Stuck),
				"Compare the stores with `stampede audit`, correct the rows, and run `stampede recover`."))
		}
	}
	var problems int64
	for i := range b.Nodes {
		problems = max(problems, b.Nodes[i].Problems)
	}
	if problems > 0 {
		alarms = append(alarms, newAlarm(AlarmProblems, b.Now, fmt.Sprintf("%d orders have problems after a recovery.", problems),
			"List the orders with `stampede recover`, and settle each one. Their buyers wait."))
	}
	if n := b.Payments.Differences; n > 0 {
		alarms = append(alarms, newAlarm(AlarmPaymentsDiffer, b.Now,
			fmt.Sprintf("%d orders differ from the records of the payment gateway.", n),
			"List them with `stampede pay reconcile`. Refund payments without an order in the console, under Payments."))
	}
	if n := b.Payments.RefundsStuck; n > 0 {
		alarms = append(alarms, newAlarm(AlarmRefundsStuck, b.Now, fmt.Sprintf("The payment gateway has rejected %d refunds.", n),
			"Read their notes in the console, under Refunds, and correct the cause, then retry them."))
	}
	for _, n := range b.Nodes {
		if n.Risk != "" {
			alarms = append(alarms, newAlarm(AlarmDatabaseRisk, b.Now, n.Name+": "+n.Risk+".",
				"Connect the nodes to the server in use, and restore its replica."))
		}
	}
	return alarms
}

// redisUnreachable returns the alarm for a board that cannot be read from Redis.
func redisUnreachable(since shop.Millis) Alarm {
	return newAlarm(AlarmRedisUnreachable, since, "Redis does not respond. This board shows the data of one node.",
		"Restore Redis with its disk. Until then nothing is sold, and buys must be retried.")
}

// partitionsUnreachable returns the alarm for partitions on an unreachable server while others are reachable.
func partitionsUnreachable(partitions partitionList, since shop.Millis) Alarm {
	return newAlarm(AlarmRedisUnreachable, since,
		fmt.Sprintf("The Redis server of %s does not respond. The other servers work.", partitions),
		"Restore it with its disk, or promote its replica. Until then buys of its sales must be retried.")
}

// writesRejected returns the alarm for a Redis that accepts reads and rejects writes; message is its text for
// operators.
func writesRejected(message string, since shop.Millis) Alarm {
	return newAlarm(AlarmWritesRejected, since, message,
		"Check that the disk and the memory of Redis are not full. Until then buys return busy, and clients retry them.")
}

// busyNode returns the alarm for a node that reserves nothing. The counters of the node show this even while no history
// can be written.
func busyNode(since shop.Millis) Alarm {
	return newAlarm(AlarmStandstill, since, "For 10 s all buys of this node have returned busy.",
		"Check that Redis accepts writes, that no partition is in recovery, and that no backlog is full.")
}

// standstill returns since when nothing was confirmed although entries wait for their rows, or a sale is open and
// buys are reserved or fail with busy or internal. Buys rejected for other reasons do not count.
func standstill(points []Point) (since shop.Millis, holds bool) {
	return streak(points, standstillMin, func(p *Point) bool {
		hasDemand := p.Pending > 0 || slices.ContainsFunc(p.Lags, func(lag int64) bool { return lag > 0 }) ||
			p.Open > 0 && p.ReservedPerS+p.RejectedPerS[shop.Busy]+p.RejectedPerS[shop.Internal] > 0
		return hasDemand && p.ConfirmedPerS+p.HiddenPerS == 0
	})
}

// growingLags returns the partitions whose lag has grown with every point for growthMin.
func growingLags(points []Point) (partitions partitionList, since shop.Millis) {
	if len(points) == 0 {
		return nil, 0
	}
	for partition := range points[len(points)-1].Lags {
		lag := func(p *Point) int64 {
			if partition < len(p.Lags) {
				return p.Lags[partition]
			}
			return 0
		}
		first := len(points) - 1
		for first > 0 && points[first].At.Sub(points[first-1].At) <= pointGap &&
			lag(&points[first]) > lag(&points[first-1]) {
			first--
		}
		if points[len(points)-1].At.Sub(points[first].At) < growthMin {
			continue
		}
		partitions = append(partitions, partition)
		if since == 0 || points[first].At < since {
			since = points[first].At
		}
	}
	return partitions, since
}

// partitionList is a list of partitions for texts.
type partitionList []int

func (l partitionList) String() string {
	numbers := strings.Join(shop.Mapped(l, strconv.Itoa), ", ")
	if len(l) == 1 {
		return "partition " + numbers
	}
	return "partitions " + numbers
}

// streak reports whether the condition holds for all the last points, without a gap, for at least the given time, and
// since when. A point covers the period before it.
func streak(points []Point, atLeast time.Duration, holds func(p *Point) bool) (since shop.Millis, enough bool) {
	first := len(points)
	for first > 0 && holds(&points[first-1]) &&
		(first == len(points) || points[first].At.Sub(points[first-1].At) <= pointGap) {
		first--
	}
	if first == len(points) {
		return 0, false
	}
	since = points[first].At.Add(-PointEvery)
	return since, points[len(points)-1].At.Sub(since) >= atLeast
}

// stuckEntries returns the partitions whose oldest entry has waited longer than stuckAfter, and the maximum wait.
func stuckEntries(all []PartitionFigures) (partitions partitionList, oldest time.Duration) {
	for _, p := range all {
		if waited := time.Duration(p.OldestMS) * time.Millisecond; waited > stuckAfter {
			partitions, oldest = append(partitions, p.P), max(oldest, waited)
		}
	}
	return partitions, oldest
}

// nodesWithoutDatabase returns the nodes without a response from the database for longer than maxDatabaseSilence, and
// the longest of these times.
func nodesWithoutDatabase(nodes []NodeFigures) (names []string, maxSilence time.Duration) {
	for _, n := range nodes {
		if silence := time.Duration(n.DatabaseMS) * time.Millisecond; silence > maxDatabaseSilence {
			names, maxSilence = append(names, n.Name), max(maxSilence, silence)
		}
	}
	return names, maxSilence
}
