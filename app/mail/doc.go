// Package mail sends letters: it writes their texts, in English and Chinese, and hands them to a mail server over SMTP,
// or writes them into a folder when there is none. What waits, what is tried again and what is given up is the stream's
// part (streams.MailStream, streams.MailDeliverer).
//
//	outcome of Deliver       means
//	nil                      the server has taken it, or the file is on disk
//	app.ErrLetterRefused     a no to this letter (5xx to its address or its text): no next try brings anything else
//	*app.PauseError          the server takes nothing now, whatever the letter: away, TLS or log in failed, sender refused
//	any other                unknown or for the moment (4xx, a connection that broke): try again
//
// Connections are kept for the next letter (kept.go). What happens to one letter says nothing of another: a connection
// on which anything went wrong is not used again.
//
// A letter is the same to the last byte each time it is sent: Message-ID and Date are made of what it is about and when
// it was posted, so that a repeat is recognised. What a person typed stands in one line of the text or in the encoded
// subject, without control characters; addresses are checked once more. Errors name no address: they reach the log.
package mail
