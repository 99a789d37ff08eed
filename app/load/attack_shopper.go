package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
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
	pass := s.pass(&b.work[0], true)
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
			pass = s.pass(&b.work[0], true)
		case e.Code == app.NotOpen, e.Code == app.Busy, e.Code == app.RateLimited:
			app.Sleep(b.ctx, max(time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			b.fail(fmt.Errorf("an honest shopper: %w", err))
			return
		}
	}
}

// pass gets a pass of the sale, and adds what its work costs on average to the account given; "" when there is none to
// get. alone: the shopper has a machine of their own, so what of it others use at the same time must not matter.
func (s *shopper) pass(work *float64, alone bool) string {
	b := s.b
	if b.sale.Challenge == app.ChallengeNone {
		return ""
	}
	for b.ctx.Err() == nil {
		answer, err := s.conn.AskPass(b.sale.ID)
		if err == nil && answer.Task != nil {
			nonce, solved := solveUntil(b.ctx, answer.Task)
			if !solved {
				return ""
			}
			b.mu.Lock()
			*work += math.Exp2(float64(answer.Task.Bits))
			b.mu.Unlock()
			answer, err = s.conn.SolvePass(b.sale.ID, answer.Task.ID, nonce)
		}
		e := app.AsError(err)
		switch {
		case err == nil:
			return answer.Pass
		case e.Code == app.NotOpen, e.Code == app.Busy, e.Code == app.RateLimited, e.Code == app.PassRequired:
			app.Sleep(b.ctx, max(10*time.Millisecond, time.Duration(e.RetryMS)*time.Millisecond))
		default:
			if alone {
				b.fail(fmt.Errorf("an honest shopper asks for a pass: %w", err))
			}
			return ""
		}
	}
	return ""
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
