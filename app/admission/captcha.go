package admission

import (
	"context"
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// maxWrongSolutions limits wrong solutions and maxPictures limits pictures. Each limit is per user, minute and
	// node.
	maxWrongSolutions = 5
	maxPictures       = 10
	// maxCountedUsers is the maximum number of users in captchaCounts. At this number all counts are reset.
	maxCountedUsers = 65_536
)

// newCaptchaTask returns a captcha task. Its ID is bound to the user and the sale. So each picture has to be solved for
// the account that received it; a solution is invalid for another account.
func (s *PassService) newCaptchaTask(ctx context.Context, q PassRequest) (PassResult, error) {
	unsolved, err := s.captchaCounts.admitPicture(q.User, time.Now())
	if err != nil {
		return PassResult{}, err
	}
	id, image, until, err := s.Captcha.New(ctx, PictureClient{From: q.From, Unsolved: unsolved})
	if err != nil {
		return PassResult{}, shop.Unavailable("the captcha", err)
	}
	sealed := seal{kind: sealCaptcha, sale: q.Sale, user: q.User, binding: id, until: until}.text(s.Passes.key)
	return PassResult{Task: &Task{Kind: shop.ChallengeCaptcha, ID: id + "." + sealed, Image: image, Until: until}}, nil
}

// solvePicture returns the pass for a correctly solved picture. Each picture allows one try. The picture is used
// up and the pass is issued now, so a client that misses the reply needs another picture.
func (s *PassService) solvePicture(ctx context.Context, q PassRequest, now shop.Millis) (PassResult, error) {
	if err := s.captchaCounts.admitSolution(q.User, time.Now()); err != nil {
		return PassResult{}, err
	}
	id, sealed, _ := strings.Cut(q.Task, ".")
	_, valid := seal{kind: sealCaptcha, sale: q.Sale, user: q.User, binding: id}.verify(s.Passes.key, sealed, now)
	correct := false
	if valid && q.Answer != "" {
		var err error
		if correct, err = s.Captcha.Check(ctx, id, q.Answer); err != nil {
			return PassResult{}, shop.Unavailable("the captcha", err)
		}
	}
	if !correct {
		s.captchaCounts.countWrong(q.User, time.Now())
		return PassResult{}, shop.Fail(shop.CaptchaRequired,
			"the solution is wrong, or the captcha was used before; request a new one")
	}
	until := now.Add(passLife)
	return PassResult{Pass: s.Passes.issue(q.Sale, q.User, now, until), Until: until}, nil
}

// captchaCounts counts the pictures and solutions of users on this node.
type captchaCounts struct {
	mu     sync.Mutex
	byUser map[shop.ID]*userCounts
}

// userCounts has the counts of one user within a minute that starts with the first request.
type userCounts struct {
	ends                       time.Time
	pictures, solutions, wrong int
}

// admitPicture counts a requested picture. unsolved is the number of earlier pictures without a submitted solution.
// RateLimited: the user has reached a limit.
func (c *captchaCounts) admitPicture(user shop.ID, now time.Time) (unsolved int, err error) {
	err = c.count(user, now, func(counts *userCounts) bool {
		unsolved = max(0, counts.pictures-counts.solutions)
		counts.pictures++
		return counts.pictures <= maxPictures && counts.wrong < maxWrongSolutions
	})
	return unsolved, err
}

// admitSolution counts a solution. RateLimited: the user has sent maxWrongSolutions wrong solutions.
func (c *captchaCounts) admitSolution(user shop.ID, now time.Time) error {
	return c.count(user, now, func(counts *userCounts) bool {
		counts.solutions++
		return counts.wrong < maxWrongSolutions
	})
}

// countWrong records a wrong solution.
func (c *captchaCounts) countWrong(user shop.ID, now time.Time) {
	_ = c.count(user, now, func(counts *userCounts) bool { counts.wrong++; return true })
}

func (c *captchaCounts) count(user shop.ID, now time.Time, admit func(counts *userCounts) bool) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := c.byUser[user]
	if counts == nil || !now.Before(counts.ends) {
		if c.byUser == nil || len(c.byUser) >= maxCountedUsers {
			c.byUser = make(map[shop.ID]*userCounts)
		}
		counts = &userCounts{ends: now.Add(time.Minute)}
		c.byUser[user] = counts
	}
	if admit(counts) {
		return nil
	}
	e := shop.Fail(shop.RateLimited, "too many captchas; wait before the next one")
	e.RetryMS = max(1, counts.ends.Sub(now).Milliseconds())
	return e
}
