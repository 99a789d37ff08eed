package mail

import (
	"context"
	"errors"
	"fmt"
	netmail "net/mail"
	"os"
	"path/filepath"

	"stampede/app/outbox"
	"stampede/app/shop"
)

// Folder writes e-mails as files, for a shop that has no mail server: for trying out, and so that nothing is lost until
// one is set up. Whoever can read them can use their links, so only this user can.
type Folder struct {
	Path string
	From *netmail.Address
	// Written hears of each e-mail that was written, and where; nil: nobody does. A repeat is heard again.
	Written func(l outbox.Email, file string)
}

// Deliver writes an e-mail to a file of its own; a repeat replaces it by the same one.
func (f *Folder) Deliver(_ context.Context, l outbox.Email, posted shop.Millis) error {
	m, err := message(f.From, &l, posted)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return &outbox.PauseError{Err: fmt.Errorf("make the folder of mails: %w", err)}
	}
	file := filepath.Join(f.Path, posted.Time().Format("20060102-150405")+"-"+emailName(&l)+".eml")
	// Written whole or not at all, also when the process dies: first under a name that is no e-mail's.
	part, err := os.CreateTemp(f.Path, ".part-*") // mode 0600
	if err != nil {
		return &outbox.PauseError{Err: fmt.Errorf("write a mail: %w", err)}
	}
	_, err = m.WriteTo(part)
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return &outbox.PauseError{Err: fmt.Errorf("write a mail: %w", err)}
	}
	if f.Written != nil {
		f.Written(l, file)
	}
	return nil
}
