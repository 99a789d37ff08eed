package server

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"

	"stampede/app/shop"
)

// forwardEvery is the interval at which the embedded Redis, which does not expire keys by itself, advances its time.
const forwardEvery = time.Second

// folder is the data folder of the embedded stores:
//
//	stampede.db   SQLite
//	jwt.key       the signing key, created at the first start
//	redis.addr    address of the embedded Redis of the running server, for tools
//	lock          held by the running server
//	mail/         e-mails if no mail server is configured; also with real stores
type folder string

func (f folder) database() string { return filepath.Join(string(f), "stampede.db") }

func (f folder) redisAddr() string { return filepath.Join(string(f), "redis.addr") }

func (f folder) mails() string { return filepath.Join(string(f), "mail") }

func (f folder) create() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return fmt.Errorf("create the data folder (STAMPEDE_DATA): %w", err)
	}
	return nil
}

// lock locks the folder against a second server until the returned file is closed.
func (f folder) lock() (*os.File, error) {
	file, err := os.OpenFile(filepath.Join(string(f), "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := lock(file); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = fmt.Errorf("another server uses the data folder %s; stop it, or set another folder with STAMPEDE_DATA or --data", f)
		}
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// removeDatabase deletes the database but keeps the signing key, so that users stay logged in.
func (f folder) removeDatabase() error {
	for _, suffix := range []string{"", "-wal", "-shm"} {
		if err := os.Remove(f.database() + suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("delete the earlier shop: %w", err)
		}
	}
	return nil
}

// secret reads the signing key of the folder, or creates it.
func (f folder) secret() (Secret, error) {
	path := filepath.Join(string(f), "jwt.key")
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		var key [48]byte
		_, _ = rand.Read(key[:]) // never fails
		text = []byte(base64.StdEncoding.EncodeToString(key[:]))
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("store the signing key: %w", err)
	}
	if len(strings.TrimSpace(string(text))) < minSecret {
		return "", fmt.Errorf("the signing key in %s is damaged; remove the file to create a new key (this logs out all users)",
			path)
	}
	return Secret(strings.TrimSpace(string(text))), nil
}

// runningRedis returns the address of the embedded Redis of the server that runs on the folder.
func (f folder) runningRedis() (string, error) {
	text, err := os.ReadFile(f.redisAddr())
	if err != nil {
		return "", noServerError(string(f))
	}
	return strings.TrimSpace(string(text)), nil
}

func noServerError(data string) error {
	return fmt.Errorf("no server is running on the data folder %s; its Redis runs only inside the server", data)
}

// embeddedRedis is a Redis server inside the process. It listens on a TCP port.
type embeddedRedis struct {
	mini   *miniredis.Miniredis
	folder folder
}

// startRedis starts the embedded Redis on the address and writes redis.addr for the tools.
func startRedis(f folder, address string) (*embeddedRedis, error) {
	mini := miniredis.NewMiniRedis()
	if err := mini.StartAddr(address); err != nil {
		return nil, fmt.Errorf("start the embedded Redis on %s (STAMPEDE_EMBEDDED_REDIS): %w", address, err)
	}
	if err := os.WriteFile(f.redisAddr(), []byte(mini.Addr()+"\n"), 0o600); err != nil {
		mini.Close()
		return nil, fmt.Errorf("store the address of the embedded Redis: %w", err)
	}
	return &embeddedRedis{mini, f}, nil
}

// run advances the time of the embedded Redis until ctx ends.
func (e *embeddedRedis) run(ctx context.Context) error {
	for last := time.Now(); shop.Sleep(ctx, forwardEvery); {
		now := time.Now()
		e.mini.FastForward(now.Sub(last))
		last = now
	}
	return ctx.Err()
}

func (e *embeddedRedis) close() {
	_ = os.Remove(e.folder.redisAddr()) // if this fails, tools detect the old file: its address does not respond
	e.mini.Close()
}

// acquireFolder locks the data folder. Without a configured signing key it uses the key of the folder.
func (s *Server) acquireFolder() (err error) {
	f := folder(s.config.Data)
	if err := f.create(); err != nil {
		return err
	}
	if s.lock, err = f.lock(); err != nil {
		return err
	}
	if s.options.Fresh {
		if err := f.removeDatabase(); err != nil {
			return err
		}
	}
	if s.config.JWTSecret == "" {
		s.config.JWTSecret, err = f.secret()
	}
	return err
}
