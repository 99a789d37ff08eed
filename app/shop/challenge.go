package shop

// Challenge is the entry check of a sale: nothing, a pass, or a pass that requires a solved task.
type Challenge string

// rank orders the checks by strength; an unknown value is as strong as a captcha.
func (c Challenge) rank() int {
	switch c {
	case ChallengeNone, "":
		return 0
	case ChallengePass:
		return 1
	case ChallengeWork:
		return 2
	default:
		return 3
	}
}

// AtLeast returns the stronger of the two checks.
func (c Challenge) AtLeast(minimum Challenge) Challenge {
	if minimum.rank() > c.rank() {
		return minimum
	}
	return c
}

// NeedsPass reports whether a buy requires a pass. An unknown value requires one, so that an error rejects buyers
// instead of admitting all.
func (c Challenge) NeedsPass() bool { return c != ChallengeNone && c != "" }

// task returns the task that clients have to solve. A pass alone requires no task.
func (c Challenge) task() Challenge {
	if c == ChallengeCaptcha || c == ChallengeWork {
		return c
	}
	return ChallengeNone
}

const (
	ChallengeNone    Challenge = "none"    // no check
	ChallengePass    Challenge = "pass"    // a pass, issued on request
	ChallengeCaptcha Challenge = "captcha" // a pass, issued for a solved picture captcha
	ChallengeWork    Challenge = "work"    // a pass, issued for a proof of work
)

// ParseChallenge accepts exactly the four values above.
func ParseChallenge(s string) (Challenge, error) {
	switch c := Challenge(s); c {
	case ChallengeNone, ChallengePass, ChallengeCaptcha, ChallengeWork:
		return c, nil
	}
	return "", Fail(BadRequest, "the entry check must be none, pass, captcha or work")
}
