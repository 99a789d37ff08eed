package server

import (
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"

	"stampede/app"
)

// passes derives the key of passes from the signing secret, which all nodes share: a text of one can never be taken for
// one of the other.
func (c *Config) passes() (*app.Passes, error) {
	key, err := hkdf.Key(sha256.New, []byte(c.JWTSecret), nil, "stampede passes", sha256.Size)
	if err != nil {
		return nil, fmt.Errorf("derive the key of passes: %w", err)
	}
	return app.NewPasses(key), nil
}
