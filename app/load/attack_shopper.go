package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"

	"stampede/app"
	"stampede/app/wsclient"
)

// Addresses of loopback, apart from those of other scenarios: honest shoppers have 127.2.x.y, bots 127.1.0.x.
func honestAddress(i int) net.Addr { return loopback(2, i) }

func botAddress(i int) net.Addr { return loopback(1, i) }

func loopback(net2, i int) net.Addr {
	return &net.TCPAddr{IP: net.IPv4(127, byte(net2), byte(i/250), byte(1+i%250))}
}

// shopper is somebody with an account and a socket: honest, or a bot.
type shopper struct {
	b     *battle
	bot   bool
	from  net.Addr
	token string
	conn  *wsclient.Conn
}

// connect opens the socket and logs in; without a token yet, as somebody new.
func (s *shopper) connect(ctx context.Context) (err error) {
	if s.token == "" {
		var user app.ID
		if user, err = s.b.shop.Mint(); err != nil {
			return fmt.Errorf("mint user id: %w", err)
		}
		if s.token, err = s.b.shop.Token(user); err != nil {
			return err
		}
	}
	for ctx.Err() == nil {
		d := wsclient.Dialer{From: s.from}
		if s.conn, err = d.Dial(ctx, "http://"+s.b.Address); err == nil {
			if _, err = s.conn.Hello(s.token, ""); err == nil {
				return nil
			}
			s.conn.Close()
		}
		if !app.Sleep(ctx, 200*time.Millisecond) { // turned away for now
			break
		}
	}
	return errors.Join(err, ctx.Err())
}

// shop is what an honest shopper does: a pass as soon as there are passes, a press before the opening, and then what
// the answers ask for, with one key, until there is nothing to have. persists: also then, because units come back.
func (s *shopper) shop(persists bool) {
	b, key := s.b, "honest-"+strconv.FormatInt(time.Now().UnixNano(), 36)
	pass := s.pass()
	select {
	case b.passes <- recorded{pass, key}:
	default:
	}
	app.Sleep(b.ctx, time.Until(b.gun)-time.Second) // people press early
	for b.ctx.Err() == nil {
		_, err := s.conn.BuyWith(pass, b.sale.ID, 1, key)
		e := app.AsError(err)
		switch {
		case err == nil:
			b.mu.Lock()
			b.gained++
			b.mu.Unlock()
			return
		case e.Code == app.SoldOut && persists:
			app.Sleep(b.ctx, 100*time.Millisecond)
		case e.Code == app.SoldOut, e.Code == app.Closed:
			return
		case e.Code == app.PassRequired:
			pass = s.pass()
		case e.Code == app.NotOpen, e.Code == app.Busy, e.Code == app.RateLimited:
			app.Sleep(b.ctx, max(time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			b.fail(fmt.Errorf("an honest shopper: %w", err))
			return
		}
	}
}

// pass gets a pass of the sale; "" when there is none to get.
func (s *shopper) pass() string {
	b := s.b
	if b.sale.Challenge == app.ChallengeNone {
		return ""
	}
	for b.ctx.Err() == nil {
		answer, err := s.conn.AskPass(b.sale.ID)
		if err == nil && answer.Task != nil {
			solution, solved := s.solve(answer.Task)
			if !solved {
				return ""
			}
			answer, err = s.conn.SolvePass(b.sale.ID, answer.Task.ID, solution)
		}
		e := app.AsError(err)
		switch {
		case err == nil:
			return answer.Pass
		case e.Code == app.NotOpen, e.Code == app.Busy, e.Code == app.RateLimited, e.Code == app.PassRequired,
			e.Code == app.CaptchaRequired:
			app.Sleep(b.ctx, max(10*time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			if !s.bot {
				b.fail(fmt.Errorf("an honest shopper asks for a pass: %w", err))
			}
			return ""
		}
	}
	return ""
}

// solve does what a task asks for, and notes what work costs on average.
func (s *shopper) solve(task *app.Task) (solution string, solved bool) {
	if task.Kind == app.ChallengeCaptcha {
		return s.read(task)
	}
	b := s.b
	if solution, solved = solveUntil(b.ctx, task); solved {
		whose := 0
		if s.bot {
			whose = 1
		}
		b.mu.Lock()
		b.work[whose] += math.Exp2(float64(task.Bits))
		b.mu.Unlock()
	}
	return solution, solved
}

// How long somebody takes to read six digits and to type them.
const leastReading, mostReading = 3 * time.Second, 7 * time.Second

// read is a person in front of a picture, or what an attacker has for one.
func (s *shopper) read(task *app.Task) (answer string, read bool) {
	b := s.b
	switch {
	case !s.bot:
		app.Sleep(b.ctx, leastReading+rand.N(mostReading-leastReading))
	case b.reader == nil:
		return "", false
	case b.reader.Wait(b.ctx) != nil:
		return "", false
	}
	id, _, _ := strings.Cut(task.ID, ".")
	answer, err := b.shop.Read(b.ctx, id)
	if err != nil { // it has ended, or a node whose Redis was slow keeps it to itself: as good as not to be read
		return "?", true
	}
	if s.bot {
		b.mu.Lock()
		b.read++
		b.mu.Unlock()
	}
	return answer, true
}

// solveUntil does a proof of work, unless ctx ends first.
func solveUntil(ctx context.Context, task *app.Task) (nonce string, solved bool) {
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return "", false
		}
		if nonce = strconv.Itoa(n); app.Solves(task.Text, nonce, task.Bits) {
			return nonce, true
		}
	}
}

func (b *battle) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() == nil && len(b.failed) < 5 {
		b.failed = append(b.failed, err)
	}
}
