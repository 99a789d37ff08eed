package shop

import (
	"testing"
)

// The stronger of two checks counts; what is not known keeps people out.
func TestLeastChallenge(t *testing.T) {
	t.Parallel()
	order := []Challenge{ChallengeNone, ChallengePass, ChallengeWork, ChallengeCaptcha, "riddle"}
	for i, c := range order {
		for j, least := range order[:4] {
			if got := c.AtLeast(least); got != order[max(i, j)] {
				t.Errorf("%s, at least %s: %s", c, least, got)
			}
		}
	}
}
