// Package mail sends e-mails. It composes their texts in English and Chinese and sends them to a mail server over SMTP.
// Without a mail server, it writes them into a folder. The queue (streams.MailStream, streams.Deliverer) delays,
// repeats and quarantines e-mails.
//
//	outcome of Deliver       means
//	nil                      the server has accepted the e-mail, or the file is on disk
//	outbox.ErrRejected       a permanent failure of this e-mail (5xx to its address or its text)
//	*outbox.PauseError       the server accepts no e-mail now: unreachable, TLS or login failed, sender rejected
//	any other error          an unknown outcome or a temporary failure (4xx, a broken connection): try again
//
// Connections are reused for the next e-mail (pool.go). The outcome of one e-mail does not affect another: a connection
// with any error is not reused.
//
// Every attempt sends the same bytes, so that receivers recognize a repeat. Message-ID is derived from the kind, the
// identity (About) and the recipient; Date is the time of posting. User input is one line of the body or part
// of the encoded subject, without control characters. Addresses are checked again. Errors contain no address, because
// they are logged.
package mail
