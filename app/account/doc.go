// Package account identifies buyers: guests, accounts, their logins and tokens. The user of every order comes from a
// verified token, never from the input of a client.
//
//	guest.go       guests: clients without an account
//	register.go    registration, activation, forgotten passwords; me.go: changes by the owner of an account
//	login.go       logins, and limits after failures; hasher.go: limits for password hashes
//	session.go     refresh and logout; refresh tokens
//	token.go       access tokens; token_read.go: parsing; keys.go: generations of the signing key
//	watch.go       reads revocations and keys on every node
//	captcha.go     captcha pictures; counters.go: counters and short-lived strings
package account
