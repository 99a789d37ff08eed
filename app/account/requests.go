package account

import (
	"net/netip"

	"stampede/app/shop"
)

// Requests and responses of the routes under /api/v1/auth and /api/v1/me. A device is one login: the row of a refresh
// token. A session is the tokens of a device.

// CaptchaPicture is a captcha of digits. It accepts a single solution attempt.
type CaptchaPicture struct {
	ID      string      `json:"id"`
	Image   string      `json:"image"` // data URL
	Expires shop.Millis `json:"expires"`
}

// CaptchaSolution is the submitted solution of a picture.
type CaptchaSolution struct {
	ID     string `json:"id"`
	Answer string `json:"answer"`
}

// Registration is a request for an account.
type Registration struct {
	Email    string           `json:"email"`
	Password string           `json:"password"`
	Name     string           `json:"name"` // "": a name is generated
	Lang     string           `json:"lang"` // en or zh; "" means en
	Captcha  *CaptchaSolution `json:"captcha"`

	Guest shop.Identity `json:"-"` // the caller, if authenticated; see LogIn.Guest
}

// LogIn is a request for a session.
type LogIn struct {
	Email    string           `json:"email"`
	Password string           `json:"password"`
	Captcha  *CaptchaSolution `json:"captcha"` // required after failures or while many logins are queued
	Client   string           `json:"client"`  // "app": the refresh token is in the response; otherwise in a cookie
	Device   string           `json:"device"`  // name of the device in the list of logins

	Addr  netip.Addr    `json:"-"` // client address
	Guest shop.Identity `json:"-"` // the caller, if authenticated: a guest who registered keeps id and orders
}

// ResetRequest is a request for a link that sets a new password.
type ResetRequest struct {
	Email   string           `json:"email"`
	Captcha *CaptchaSolution `json:"captcha"`
}

// Activation is a request to activate an account with an e-mailed link. It requires the password that was chosen at
// registration.
type Activation struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

// NewPassword is a request to set a password with an e-mailed link.
type NewPassword struct {
	Token    string `json:"token"`
	Password string `json:"password"`
}

// PasswordChange is a request to replace the old password with a new password.
type PasswordChange struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// LogOut is a request to end a session, or all sessions of a user. Either a refresh token or the bearer token
// identifies the user.
type LogOut struct {
	Refresh    string
	Caller     shop.Identity // from the bearer token
	Everywhere bool
}

// Session contains the tokens of a login.
type Session struct {
	Access  string      `json:"access"`
	Expires shop.Millis `json:"expires"`
	User    SessionUser `json:"user"`
	Refresh string      `json:"refresh,omitempty"` // for apps; browsers store it in a cookie
}

// SessionUser is the user of a session.
type SessionUser struct {
	ID    shop.ID   `json:"id"`
	Name  string    `json:"name"`
	Role  shop.Role `json:"role"`
	Email string    `json:"email"`
}

// Me is the caller's own account.
type Me struct {
	ID        shop.ID     `json:"id"`
	Name      string      `json:"name"`
	Role      shop.Role   `json:"role"`
	Email     string      `json:"email,omitempty"`
	Lang      string      `json:"lang,omitempty"`
	CreatedAt shop.Millis `json:"created_at,omitempty"` // omitted for guests
	Guest     bool        `json:"guest"`
}

// MeEdit is a change of the caller's account. Fields with nil are not changed.
type MeEdit struct {
	Name *string `json:"name"`
	Lang *string `json:"lang"`
}

// MyDevice is a device of the caller.
type MyDevice struct {
	ID         shop.ID     `json:"id"`
	Name       string      `json:"name"`
	CreatedAt  shop.Millis `json:"created_at"`
	LastSeenAt shop.Millis `json:"last_seen_at"`
	Current    bool        `json:"current"` // the login of this request
}
