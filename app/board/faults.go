package board

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"stampede/app/shop"
)

// Fault is a condition that a node has found and that raises an alarm. The faults of all nodes with the same name are
// one alarm.
type Fault struct {
	Name  string      `json:"name"`            // a name in faultTexts
	Since shop.Millis `json:"since,omitempty"` // 0: unknown
	Count int64       `json:"count,omitempty"` // in the whole shop: the largest one of all nodes is shown
	Text  string      `json:"text,omitempty"`  // the first one of all nodes is shown
}

// faultTexts has the texts of the alarms for faults, in the order of the board. In a message, %s is the text of the
// fault, or its count, or else the names of the nodes.
var faultTexts = []struct{ name, message, do string }{
	{
		AlarmDatabaseReadOnly, "The database is read-only for %s.",
		"Connect the nodes to the primary, or set read_only = 0 if this server is the primary. Reservations wait in Redis.",
	},
	{
		AlarmDatabaseConnections, "The database accepts no further connections of %s.",
		"Raise max_connections, or end other programs that use it. A node uses up to 40 connections.",
	},
	{
		AlarmRedisSetting, "%s.",
		"Correct the setting now, in its file and with CONFIG SET. No node starts with it.",
	},
	{
		AlarmRedisSlow, "Redis replies to %s after more than " + SlowRedis.String() + ".",
		"Check the load of the Redis server, its slow log, and the network. Until then all buys are slow.",
	},
	{
		AlarmPaymentsUndecided, "Late payments without a decision for five minutes: %s.",
		"Check that a sweeper runs, and that the rows of their sales are not locked.",
	},
	{
		AlarmForgedNotifications, "Forged payment notifications within a minute: %s.",
		"Compare STAMPEDE_ALIPAY_PUBLIC_KEY with the settings of the app at Alipay. With the right key, block the sender.",
	},
	{
		AlarmTradesUnanswered, "The payment gateway does not reply. Orders that wait for the end of their payment: %s.",
		"Check the gateway and the network. Until then the units of these orders are held.",
	},
	{
		AlarmPostingsQuarantined, "Postings that the back office has rejected: %s.",
		"Read the responses with `stampede backoffice parked list`, correct the receiver, then replay them.",
	},
	{
		AlarmMailsQuarantined, "E-mails that the mail server has rejected: %s.",
		"Read the responses with `stampede mail list`, then retry or drop them.",
	},
	{
		AlarmSalesDiffer, "Sales that differ between Redis and the database: %s.",
		"Find them with `stampede audit`, then restore their partition.",
	},
	{
		AlarmPersonalDataStays, "Old personal data cannot be removed: %s.",
		"Correct the cause. The next run, within ten minutes, continues.",
	},
	{
		AlarmCertificateEnds, "%s.",
		"Renew the certificate, and reload its server or restart the nodes.",
	},
}

// faultAlarms returns the alarms for the faults of all nodes.
func faultAlarms(b *Board) (alarms []Alarm) {
	for _, texts := range faultTexts {
		var merged Fault
		var nodes []string
		for _, n := range b.Nodes {
			for _, f := range n.Report.Faults {
				if f.Name == texts.name {
					merged.merge(f)
					nodes = append(nodes, n.Name)
				}
			}
		}
		if len(nodes) == 0 {
			continue
		}
		detail := cmp.Or(merged.Text, strings.Join(nodes, ", "))
		if merged.Count > 0 {
			detail = strconv.FormatInt(merged.Count, 10)
		}
		since := cmp.Or(merged.Since, b.Now)
		alarms = append(alarms, newAlarm(texts.name, since, fmt.Sprintf(texts.message, detail), texts.do))
	}
	return alarms
}

// merge adds a fault of another node: the earliest known start, the largest count, and the first text.
func (f *Fault) merge(other Fault) {
	if f.Since == 0 || other.Since != 0 && other.Since < f.Since {
		f.Since = other.Since
	}
	f.Count = max(f.Count, other.Count)
	f.Text = cmp.Or(f.Text, other.Text)
}
