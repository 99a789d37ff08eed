package api

import (
	"net/netip"

	"stampede/app"
)

// rehearsalHeader carries the token of a simulated shopper in a handshake: its socket counts for an address of its own
// from then on, and takes nothing of what the address may do that it comes from.
const rehearsalHeader = "X-Stampede-Rehearsal"

// AllowRehearsal says as which address the shopper of a rehearsal counts that a token is for; false: it is for none, or
// counts no more.
func (f *HTTPServer) AllowRehearsal(addr func(token string) (netip.Addr, bool)) {
	f.rehearsal.Store(&addr)
}

// rehearses is the address that a handshake with the token counts as; zero for one without a token.
func (f *HTTPServer) rehearses(token []byte) (netip.Addr, *app.Error) {
	if len(token) == 0 {
		return netip.Addr{}, nil
	}
	if addr := f.rehearsal.Load(); addr != nil {
		if as, ok := (*addr)(string(token)); ok {
			return as, nil
		}
	}
	return netip.Addr{}, app.Fail(app.Forbidden, "no rehearsal runs that this token is for")
}
