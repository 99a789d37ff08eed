// Package account says who a buyer is: access tokens and guests. The user of every order comes from a token that
// this package has verified, never from what a client claims.
package account
