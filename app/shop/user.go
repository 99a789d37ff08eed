package shop

// UserState is the state of an account:
//
//	pending ── the link in the mail ──▶ active ── its user, or an operator ──▶ deleted
//	   └─ removed: replaced by a newer registration of the same e-mail, rejected by the link, or expired
type UserState string

const (
	UserPending UserState = "pending" // the e-mail address is not verified: login is not possible
	UserActive  UserState = "active"
	UserDeleted UserState = "deleted" // the row keeps the ID, so that it is not reused; it has no personal data
)

// User is a person with an account. Guests have no account.
type User struct {
	ID          ID
	Email       string // lower case; "" when deleted
	Name        string
	Role        Role
	Password    string // hash (PHC); "": no password matches. It never leaves the server.
	Lang        string // en or zh
	State       UserState
	CreatedAt   Millis
	ActivatedAt Millis // 0: not yet activated
	DeletedAt   Millis // 0: not deleted
}

// Device is one login of a user. Its refresh tokens replace each other: one is valid at a time.
type Device struct {
	ID           ID
	User         ID
	Name         string
	RefreshHash  string // of the valid token
	PreviousHash string // of the previous token and its client; "": no token is reissued
	RotatedAt    Millis
	CreatedAt    Millis
	LastSeenAt   Millis
	ExpiresAt    Millis
	RevokedAt    Millis // 0: not revoked
}

// MailTokenKind is the purpose of the link in a mail.
type MailTokenKind string

const (
	TokenActivate MailTokenKind = "activate"
	TokenReset    MailTokenKind = "reset"
	// TokenGuest is not mailed. It links an account to the guest who registered it, until the first login.
	TokenGuest MailTokenKind = "guest"
)

// MailToken is the stored part of the secret in a mailed link.
type MailToken struct {
	Hash      string // SHA-256 of the secret, in hex
	User      ID
	Kind      MailTokenKind
	ExpiresAt Millis
}
