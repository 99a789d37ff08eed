// Package account identifies buyers: guests, accounts, their log ins and tokens. The user of every order comes from a
// token that this package has verified, never from a client's claim.
//
//	guest.go       clients without an account
//	register.go    adding accounts, activating, forgotten passwords; me.go: changes by their owners
//	login.go       logging in, and limits after failures; hasher.go: the cost of passwords
//	session.go     refreshing and logging out; refresh tokens
//	token.go       access tokens; token_read.go: how they are read; keys.go: the generations of their key
//	watch.go       revocations and keys on every node
//	captcha.go     pictures; shelf.go: counts and texts that are kept for a while
package account
