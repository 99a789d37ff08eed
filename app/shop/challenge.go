package shop

// Challenge is what a sale asks of a buyer before a buy: nothing, a pass, or a pass that is given for a solved task.
type Challenge string

// rank orders the checks by what they keep out.
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

// AtLeast is the stronger of the two.
func (c Challenge) AtLeast(least Challenge) Challenge {
	if least.rank() > c.rank() {
		return least
	}
	return c
}

// NeedsPass reports whether a buy must come with a pass. An unknown value needs one: it keeps buyers out rather than
// letting everybody in.
func (c Challenge) NeedsPass() bool { return c != ChallengeNone && c != "" }

// task is what clients are told that they will have to solve: a pass for the asking is no task.
func (c Challenge) task() Challenge {
	if c == ChallengeCaptcha || c == ChallengeWork {
		return c
	}
	return ChallengeNone
}

const (
	ChallengeNone    Challenge = "none"    // nothing
	ChallengePass    Challenge = "pass"    // a pass, for the asking
	ChallengeCaptcha Challenge = "captcha" // a pass, for reading a picture
	ChallengeWork    Challenge = "work"    // a pass, for a proof of work
)

// ParseChallenge accepts exactly the four of them.
func ParseChallenge(s string) (Challenge, error) {
	switch c := Challenge(s); c {
	case ChallengeNone, ChallengePass, ChallengeCaptcha, ChallengeWork:
		return c, nil
	}
	return "", Fail(BadRequest, "the entry check must be none, pass, captcha or work")
}
