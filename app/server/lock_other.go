//go:build !unix

package server

import (
	"fmt"
	"os"
	"path/filepath"
)

// lock cannot keep a second server off the folder on this system.
func (f folder) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(string(f), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	return file, nil
}
