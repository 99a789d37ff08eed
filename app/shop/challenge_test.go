package shop

import (
	"testing"
)

// AtLeast returns the stronger check. An unknown check counts as the strongest one.
func TestAtLeastReturnsTheStrongerChallenge(t *testing.T) {
	t.Parallel()
	order := []Challenge{ChallengeNone, ChallengePass, ChallengeWork, ChallengeCaptcha, "riddle"}
	for i, c := range order {
		for j, minimum := range order[:4] {
			if got := c.AtLeast(minimum); got != order[max(i, j)] {
				t.Errorf("%s.AtLeast(%s) = %s, want %s", c, minimum, got, order[max(i, j)])
			}
		}
	}
}
