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

// Folder writes e-mails as files, for a shop without a mail server: for trials, and to keep e-mails until a server is
// set up. Readers of the files could use the links in them, so only this user can read them.
type Folder struct {
	Path string
	From *netmail.Address
	// Written is called with each written e-mail and its file, also for a repeat; nil: no callback.
	Written func(l outbox.Email, file string)
}

// Deliver writes an e-mail to its own file. A repeat replaces the file with the same content.
func (f *Folder) Deliver(_ context.Context, l outbox.Email, posted shop.Millis) error {
	m, err := message(f.From, &l, posted)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(f.Path, 0o700); err != nil {
		return &outbox.PauseError{Err: fmt.Errorf("create the folder of e-mails: %w", err)}
	}
	file := filepath.Join(f.Path, posted.Time().Format("20060102-150405")+"-"+emailName(&l)+".eml")
	// The file is written completely or not at all, even if the process crashes: first under a temporary name.
	part, err := os.CreateTemp(f.Path, ".part-*") // mode 0600
	if err != nil {
		return &outbox.PauseError{Err: fmt.Errorf("write an e-mail: %w", err)}
	}
	_, err = m.WriteTo(part)
	err = errors.Join(err, part.Sync(), part.Close())
	if err == nil {
		err = os.Rename(part.Name(), file)
	}
	if err != nil {
		_ = os.Remove(part.Name())
		return &outbox.PauseError{Err: fmt.Errorf("write an e-mail: %w", err)}
	}
	if f.Written != nil {
		f.Written(l, file)
	}
	return nil
}
