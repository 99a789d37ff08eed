package account

import (
	"net/netip"

	"stampede/app/shop"
)

// What people say to their accounts, and hear. The fields are those of the routes under /api/v1/auth and /me.

// Picture is a captcha of digits that is to be answered once.
type Picture struct {
	ID      string      `json:"id"`
	Image   string      `json:"image"` // a data address
	Expires shop.Millis `json:"expires"`
}

// CaptchaAnswer is what somebody read in a picture.
type CaptchaAnswer struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}

// Registration asks for an account.
type Registration struct {
	Email    string         `json:"email"`
	Password string         `json:"password"`
	Name     string         `json:"name"` // "": one is made up
	Lang     string         `json:"lang"` // en or zh; "": en
	Captcha  *CaptchaAnswer `json:"captcha"`

	Guest shop.Identity `json:"-"` // the caller, if known: see LogIn.Guest
}

// LogIn asks for a session.
type LogIn struct {
	Email    string         `json:"email"`
	Password string         `json:"password"`
	Captcha  *CaptchaAnswer `json:"captcha"` // once failures, or many log ins, demand it
	Client   string         `json:"client"`  // "app": the refresh token is in the answer, else in a cookie
	Device   string         `json:"device"`  // how the log in is called in the list of devices

	Addr  netip.Addr    `json:"-"` // where the request came from
	Guest shop.Identity `json:"-"` // the caller, if known: the first log in of the guest who registered keeps id and orders
}

// Forgotten asks for a link that sets a new password.
type Forgotten struct {
	Email   string         `json:"email"`
	Captcha *CaptchaAnswer `json:"captcha"`
}

// Activation activates the account of a mailed link by its chosen password.
type Activation struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

// NewPassword sets a password by such a link.
type NewPassword struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

// PasswordChange sets a password by the old one.
type PasswordChange struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// LogOut ends a session, or all of a user's. One of both proves whose it is.
type LogOut struct {
	Refresh    string
	Who        shop.Identity // of the bearer token
	Everywhere bool
}

// Session is what a client works with until the access token ends.
type Session struct {
	Access  string      `json:"access"`
	Expires shop.Millis `json:"expires"`
	User    SessionUser `json:"user"`
	Refresh string      `json:"refresh,omitempty"` // for apps; browsers have it in a cookie
}

// SessionUser is how a client knows itself.
type SessionUser struct {
	ID    shop.ID   `json:"id"`
	Name  string    `json:"name"`
	Role  shop.Role `json:"role"`
	Email string    `json:"email"`
}

// Me is what users see of themselves.
type Me struct {
	ID        shop.ID     `json:"id"`
	Name      string      `json:"name"`
	Role      shop.Role   `json:"role"`
	Email     string      `json:"email,omitempty"`
	Lang      string      `json:"lang,omitempty"`
	CreatedAt shop.Millis `json:"created_at,omitempty"` // not of guests
	Guest     bool        `json:"guest"`
}

// MeEdit changes what users say about themselves; what is nil stays.
type MeEdit struct {
	Name *string `json:"name"`
	Lang *string `json:"lang"`
}

// MyDevice is one log in, as its user sees it.
type MyDevice struct {
	ID         shop.ID     `json:"id"`
	Name       string      `json:"name"`
	CreatedAt  shop.Millis `json:"created_at"`
	LastSeenAt shop.Millis `json:"last_seen_at"`
	Current    bool        `json:"current"` // it is the one that asks
}
