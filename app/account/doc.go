// Package account says who a buyer is: guests, accounts, their log ins and tokens. The user of every order comes from a
// token that this package has verified, never from what a client claims.
//
//	guest.go       people without an account
//	register.go    accounts: registering, activating, forgotten passwords; me.go: what people change of theirs
//	login.go       logging in, and what it takes after failures; hasher.go, budget.go: what passwords may cost
//	session.go     refreshing and logging out; refresh.go: refresh tokens
//	token.go       access tokens; token_read.go, token_text.go: how they are read; keys.go: the generations of their
//	               key
//	watch.go       what every node hears of revocations and keys
//	captcha.go     pictures to be answered; shelf.go: what is counted and kept for a while
package account
