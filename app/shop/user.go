package shop

// UserState is how far an account has come:
//
//	pending ── the link in the mail ──▶ active ── its bearer, or an operator ──▶ deleted
//	   └─ replaced by a newer registration of the same e-mail, rejected by the link, or forgotten after a while
type UserState string

const (
	UserPending UserState = "pending" // nobody has proven the e-mail: no log in
	UserActive  UserState = "active"
	UserDeleted UserState = "deleted" // the row keeps the id, so that no one else gets it; nothing personal is left
)

// User is somebody with an account. Guests have none.
type User struct {
	ID          ID
	Email       string // in lower case; "" when deleted
	Name        string
	Role        Role
	Password    string // its hash (PHC); "": none fits. It never leaves the server.
	Lang        string // en or zh
	State       UserState
	CreatedAt   Millis
	ActivatedAt Millis // 0: not yet
	DeletedAt   Millis // 0: it is not
}

// Device is one log in of a user: a family of refresh tokens, of which one counts at a time.
type Device struct {
	ID           ID
	User         ID
	Name         string
	RefreshHash  string // of the token that counts
	PreviousHash string // of the one before it and its client; "": none is reissued
	RotatedAt    Millis
	CreatedAt    Millis
	LastSeenAt   Millis
	ExpiresAt    Millis
	RevokedAt    Millis // 0: it is not
}

// MailTokenKind is what the link in a mail is for.
type MailTokenKind string

const (
	TokenActivate MailTokenKind = "activate"
	TokenReset    MailTokenKind = "reset"
	// TokenGuest is not mailed. It ties an account to the guest who registered it, until the first log in.
	TokenGuest MailTokenKind = "guest"
)

// MailToken is what the store knows of the secret in a mailed link.
type MailToken struct {
	Hash      string // SHA-256 of the secret, in hex
	User      ID
	Kind      MailTokenKind
	ExpiresAt Millis
}
