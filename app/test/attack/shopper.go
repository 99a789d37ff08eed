package attack

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"time"

	"stampede/app/admission"
	"stampede/app/shop"
	"stampede/app/wsclient"
)

// shopper has an account and a socket. It is honest or a bot.
type shopper struct {
	b     *contest
	bot   bool
	from  net.Addr
	token string
	conn  *wsclient.Conn
}

func (c *contest) newShopper(from net.Addr) *shopper {
	return &shopper{b: c, from: from, token: c.Token()}
}

// connect opens the socket and logs in. It retries until ctx ends.
func (s *shopper) connect(ctx context.Context) (err error) {
	for ctx.Err() == nil {
		d := wsclient.Dialer{From: s.from}
		if s.conn, err = d.Dial(ctx, "http://"+s.b.Address); err == nil {
			if _, err = s.conn.Hello(s.token, ""); err == nil {
				return nil
			}
			s.conn.Close()
		}
		shop.Sleep(ctx, 200*time.Millisecond)
	}
	return errors.Join(err, ctx.Err())
}

// shop buys as an honest shopper does: it gets a pass as soon as possible, sends the first buy a second before the
// opening, and then follows the error codes, with one key, until the sale is sold out.
func (s *shopper) shop() {
	b, key := s.b, "honest-"+strconv.FormatInt(time.Now().UnixNano(), 36)
	pass := s.pass()
	b.recordings <- recordedRequest{pass, key}
	shop.Sleep(b.ctx, time.Until(b.opensAt)-time.Second)
	for b.ctx.Err() == nil {
		_, err := s.conn.BuyWithPass(pass, b.Sale.ID, 1, key)
		e := shop.AsError(err)
		switch {
		case err == nil:
			b.mu.Lock()
			b.result.Honest++
			b.mu.Unlock()
			return
		case e.Code == shop.SoldOut && b.Persist:
			shop.Sleep(b.ctx, 100*time.Millisecond)
		case e.Code == shop.SoldOut, e.Code == shop.Closed:
			return
		case e.Code == shop.PassRequired:
			pass = s.pass()
		case e.Code == shop.NotOpen, e.Code == shop.Busy, e.Code == shop.RateLimited:
			shop.Sleep(b.ctx, max(time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			b.fail(fmt.Errorf("buy of an honest shopper: %w", err))
			return
		}
	}
}

// pass gets a pass of the sale, or "" if the shopper cannot get one.
func (s *shopper) pass() string {
	b := s.b
	if b.Sale.Challenge == shop.ChallengeNone {
		return ""
	}
	for b.ctx.Err() == nil {
		result, err := s.conn.RequestPass(b.Sale.ID)
		if err == nil && result.Task != nil {
			solution, solved := s.solve(result.Task)
			if !solved {
				return ""
			}
			result, err = s.conn.SolvePass(b.Sale.ID, result.Task.ID, solution)
		}
		e := shop.AsError(err)
		switch {
		case err == nil:
			return result.Pass
		case e.Code == shop.NotOpen, e.Code == shop.Busy, e.Code == shop.RateLimited, e.Code == shop.PassRequired,
			e.Code == shop.CaptchaRequired:
			shop.Sleep(b.ctx, max(10*time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			if !s.bot {
				b.fail(fmt.Errorf("pass of an honest shopper: %w", err))
			}
			return ""
		}
	}
	return ""
}

// solve solves a task and adds the expected hashes of a proof of work to the work of its side.
func (s *shopper) solve(task *admission.Task) (solution string, solved bool) {
	if task.Kind == shop.ChallengeCaptcha {
		return s.solveCaptcha(task)
	}
	b := s.b
	if solution, solved = solveUntil(b.ctx, task); solved {
		side := 0
		if s.bot {
			side = 1
		}
		b.mu.Lock()
		b.work[side] += math.Exp2(float64(task.Bits))
		b.mu.Unlock()
	}
	return solution, solved
}

// minReadTime and maxReadTime limit the time in which a person reads and types six digits.
const minReadTime, maxReadTime = 3 * time.Second, 7 * time.Second

// solveCaptcha solves a captcha: an honest shopper needs some seconds, a bot waits for the attacker's paid solver.
func (s *shopper) solveCaptcha(task *admission.Task) (solution string, solved bool) {
	b := s.b
	if !s.bot {
		shop.Sleep(b.ctx, minReadTime+rand.N(maxReadTime-minReadTime))
	} else if b.Pictures == 0 || b.captchaLimiter.Wait(b.ctx) != nil {
		return "", false
	}
	solution, err := b.SolveCaptcha(task.ID)
	if err != nil { // expired, or kept in the node's memory because Redis was slow: counts as unreadable
		return "?", true
	}
	if s.bot {
		b.mu.Lock()
		b.result.Pictures++
		b.mu.Unlock()
	}
	return solution, true
}

// solveUntil computes a proof of work until ctx ends.
func solveUntil(ctx context.Context, task *admission.Task) (nonce string, solved bool) {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return "", false
		}
		if nonce = strconv.Itoa(n); admission.Solves(task.Text, nonce, task.Bits) {
			return nonce, true
		}
	}
}
