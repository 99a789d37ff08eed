package demo

import (
	"log/slog"
	"time"

	"stampede/app/shop"
	"stampede/app/wsclient"
)

// minRetryPause is the shopper's minimum pause before repeating a temporarily rejected request.
const minRetryPause = time.Second

// handleRejection reacts to a rejection. A temporary one is repeated with the same key after the server's retry time. A
// permanent one is not repeated. A pause above 0 is the time until the next move.
func (s *shopper) handleRejection(r wsclient.Request, e *shop.Error) (pause time.Duration, err error) {
	slog.Debug(s.name+" was rejected", "op", r.Op, "code", e.Code, "message", e.Message)
	switch e.Code {
	case shop.Unauthorized:
		s.token = ""
		return 0, e
	case shop.RateLimited, shop.Busy, shop.Internal:
		return s.retry(r, e)
	case shop.SoldOut:
		if sale, ok := s.sales[r.Sale]; ok {
			sale.Stock = 0 // until a tick reports returned units
			s.sales[r.Sale] = sale
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

// retry waits and repeats the request. A rejected hello ends the visit, and the shopper reconnects later. After too
// many watches, the shopper first unwatches everything.
func (s *shopper) retry(r wsclient.Request, e *shop.Error) (time.Duration, error) {
	switch r.Op {
	case wsclient.Hello:
		return 0, e
	case "": // no request was rejected
		return 0, nil
	}
	pause := max(minRetryPause, time.Duration(e.RetryMS)*time.Millisecond)
	s.repeat = &r
	if r.Op == wsclient.Watch && e.Code == shop.RateLimited {
		s.slot = 0
		return pause, s.conn.Send(wsclient.Request{Op: wsclient.Unwatch})
	}
	return pause + s.randomUpTo(pause), nil
}
