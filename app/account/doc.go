// Package account identifies buyers: guests, accounts, their logins and tokens. The user of every order comes from a
// verified token, never from the input of a client.
//
//	guest.go       clients without an account
//	register.go    adding accounts, activation, forgotten passwords; me.go: changes by their owners
//	login.go       logins, and limits after failures; hasher.go: the cost of passwords
//	session.go     refresh and logout; refresh tokens
//	token.go       access tokens; token_read.go: parsing; keys.go: the generations of their key
//	watch.go       revocations and keys on every node
//	captcha.go     pictures; counters.go: counters and short-lived texts
package account
