package board

import (
	"testing"

	"stampede/app/test/fakes"
)

// Every alarm links to an existing section of the runbook.
func TestAlarmsLinkToRunbookSections(t *testing.T) {
	t.Parallel()
	sections := fakes.RunbookAnchors(t)
	for name, section := range alarmSections {
		if !sections[section] {
			t.Errorf("%s links to %s%s, which does not exist", name, Runbook, section)
		}
	}
	for _, alarm := range []string{
		AlarmStandstill, AlarmGrowingLag, AlarmRedisUnreachable, AlarmWritesRejected, AlarmDatabaseUnreachable,
		AlarmEntryStuck, AlarmDeadLetters, AlarmClosed, AlarmSaleStuck, AlarmProblems, AlarmDatabaseRisk,
		AlarmPaymentsDiffer,
	} {
		if alarmSections[alarm] == "" {
			t.Errorf("the alarm %s has no link", alarm)
		}
	}
}
