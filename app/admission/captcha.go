package admission

import (
	"context"
	"strings"
	"sync"
	"time"

	"stampede/app/shop"
)

const (
	// maxWrong is the maximum number of wrong solutions per user, maxPictures that of pictures, per minute and node.
	maxWrong    = 5
	maxPictures = 10
	// maxCountedUsers is the maximum number of users in tries. Beyond it all counts restart.
	maxCountedUsers = 65_536
)

// picture returns a captcha task. Its ID is bound to the user and the sale. So each picture has to be solved for the
// account that received it; a solution is worthless for another account.
func (d *PassService) picture(ctx context.Context, q PassRequest) (PassResult, error) {
	unread, err := d.tries.picture(q.User, time.Now())
	if err != nil {
		return PassResult{}, err
	}
	id, image, until, err := d.Captcha.New(ctx, PictureClient{From: q.From, Unread: unread})
	if err != nil {
		return PassResult{}, shop.Unreadable("the captcha", err)
	}
	bound := seal{kind: sealCaptcha, sale: q.Sale, user: q.User, about: id, until: until}.text(d.Passes.key)
	return PassResult{Task: &Task{Kind: shop.ChallengeCaptcha, ID: id + "." + bound, Image: image, Until: until}}, nil
}

// solvePicture returns the pass for a correctly solved picture. Each picture allows one try. The pass is issued at this
// instant, so a client that misses the reply requests another picture.
func (d *PassService) solvePicture(ctx context.Context, q PassRequest, now shop.Millis) (PassResult, error) {
	if err := d.tries.admitSolution(q.User, time.Now()); err != nil {
		return PassResult{}, err
	}
	id, bound, _ := strings.Cut(q.Task, ".")
	_, valid := seal{kind: sealCaptcha, sale: q.Sale, user: q.User, about: id}.read(d.Passes.key, bound, now)
	right := false
	if valid && q.Answer != "" {
		var err error
		if right, err = d.Captcha.Check(ctx, id, q.Answer); err != nil {
			return PassResult{}, shop.Unreadable("the captcha", err)
		}
	}
	if !right {
		d.tries.wrong(q.User, time.Now())
		return PassResult{}, shop.Fail(shop.CaptchaRequired,
			"the solution is wrong, or the captcha was used before; request a new one")
	}
	until := now.Add(passLife)
	return PassResult{Pass: d.Passes.issue(q.Sale, q.User, now, until), Until: until}, nil
}

// tries counts the captcha requests of users on this node.
type tries struct {
	mu sync.Mutex
	of map[shop.ID]*userCounts
}

// userCounts has the counts of one user within a minute that starts with the first request.
type userCounts struct {
	ends                       time.Time
	pictures, solutions, wrong int
}

// picture admits one more picture and returns how many earlier ones got no solution, right or wrong.
func (t *tries) picture(user shop.ID, now time.Time) (unread int, err error) {
	err = t.count(user, now, func(m *userCounts) bool {
		unread = max(0, m.pictures-m.solutions)
		m.pictures++
		return m.pictures <= maxPictures && m.wrong < maxWrong
	})
	return unread, err
}

// admitSolution admits a solution, unless there were too many wrong ones.
func (t *tries) admitSolution(user shop.ID, now time.Time) error {
	return t.count(user, now, func(m *userCounts) bool {
		m.solutions++
		return m.wrong < maxWrong
	})
}

// wrong records a wrong solution.
func (t *tries) wrong(user shop.ID, now time.Time) {
	_ = t.count(user, now, func(m *userCounts) bool { m.wrong++; return true })
}

func (t *tries) count(user shop.ID, now time.Time, admit func(m *userCounts) bool) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.of[user]
	if m == nil || !now.Before(m.ends) {
		if t.of == nil || len(t.of) >= maxCountedUsers {
			t.of = make(map[shop.ID]*userCounts)
		}
		m = &userCounts{ends: now.Add(time.Minute)}
		t.of[user] = m
	}
	if admit(m) {
		return nil
	}
	e := shop.Fail(shop.RateLimited, "too many captchas; wait before the next one")
	e.RetryMS = max(1, m.ends.Sub(now).Milliseconds())
	return e
}
