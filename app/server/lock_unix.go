//go:build unix

package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// lock keeps a second server off the folder. The lock belongs to the open file, so a crash frees it.
func (f folder) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(string(f), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("another server is using the data folder %s; stop it, or name another folder with STAMPEDE_DATA or --data", string(f))
		}
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
