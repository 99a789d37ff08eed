// Package mail sends e-mails: it writes their texts, in English and Chinese, and sends them to a mail server over SMTP,
// or writes them into a folder when there is none. Waiting, repetition and quarantine are the queue's part
// (streams.MailStream, streams.Deliverer).
//
//	outcome of Deliver       means
//	nil                      the server has taken it, or the file is on disk
//	outbox.ErrRejected          a permanent failure of this e-mail (5xx to its address or its text)
//	*outbox.PauseError          the server accepts no e-mail now: unreachable, TLS or login failed, sender rejected
//	any other                unknown or for the moment (4xx, a connection that broke): try again
//
// Connections are kept for the next e-mail (kept.go). What happens to one e-mail says nothing of another: a connection
// on which anything went wrong is not used again.
//
// An e-mail is the same to the last byte each time it is sent: Message-ID and Date are made of its subject matter and
// the instant at which it was posted, so that a repetition is recognised. What a person typed stands in one line of
// the text or in the encoded subject, without control characters; addresses are checked once more. Errors name no
// address: they reach the log.
package mail
