package demo

import (
	"log/slog"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// again is how long a shopper waits at least before asking again for what was refused for the moment.
const again = time.Second

// refused draws its lesson from every refusal: what will pass is asked again, with the same key, after the pause that
// the server asks for; what cannot be had is not wished for again. A pause above 0 is how long to wait for the next
// move.
func (s *shopper) refused(r wsclient.Request, e *shop.Error) (pause time.Duration, err error) {
	slog.Debug(s.name+" was refused", "op", r.Op, "code", e.Code, "message", e.Message)
	switch e.Code {
	case shop.Unauthorized:
		s.token = ""
		return 0, e
	case shop.RateLimited, shop.Busy, shop.Internal:
		return s.giveWay(r, e)
	case shop.SoldOut:
		if one, ok := s.sales[r.Sale]; ok {
			one.Stock = 0 // until a tick says that something has come back
			s.sales[r.Sale] = one
		}
	case shop.Paused, shop.LimitReached, shop.PassRequired, shop.CaptchaRequired:
		delete(s.sales, r.Sale)
	case shop.Closed, shop.NotOpen, shop.NotFound:
		if r.Op == wsclient.Buy {
			delete(s.sales, r.Sale)
			return 0, s.watch()
		}
	}
	return 0, nil
}

// giveWay waits and asks again. Whoever could not say hello leaves, and comes again; whoever watches too much lets go
// of all of it first.
func (s *shopper) giveWay(r wsclient.Request, e *shop.Error) (time.Duration, error) {
	switch r.Op {
	case wsclient.Hello:
		return 0, e
	case "": // of nothing that was asked
		return 0, nil
	}
	pause := max(again, time.Duration(e.RetryMS)*time.Millisecond)
	s.repeat = &r
	if r.Op == wsclient.Watch && e.Code == shop.RateLimited {
		s.slot = 0
		return pause, s.conn.Send(wsclient.Request{Op: wsclient.Unwatch})
	}
	return pause + s.upTo(pause), nil
}
