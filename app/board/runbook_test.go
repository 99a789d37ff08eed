package board

import (
	"testing"

	"stampede/app/test/fakes"
)

// Every alarm links to an existing section of the runbook.
func TestRunbookHasWhatAlarmsName(t *testing.T) {
	t.Parallel()
	parts := fakes.RunbookParts(t)
	for name, part := range alarmParts {
		if !parts[part] {
			t.Errorf("%s links to %s%s, which does not exist", name, Runbook, part)
		}
	}
	for _, alarm := range []string{
		AlarmNothingMoves, AlarmLagGrows, AlarmRedisAway, AlarmWritesRejected, AlarmDatabaseAway, AlarmEntryStuck,
		AlarmDeadLetters, AlarmClosed, AlarmSaleStuck, AlarmDatabaseRisk,
	} {
		if alarmParts[alarm] == "" {
			t.Errorf("the alarm %s has no link", alarm)
		}
	}
}
