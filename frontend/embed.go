// Package frontend carries the shopper's page and the operators' console inside the binary. `npm run build` writes both
// to dist.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Dist is the built page, with index.html at its root; false when the binary was made without building
// the page first, so that only the placeholder is there.
func Dist() (fs.FS, bool) { return pageIn(built) }

func pageIn(folder fs.FS) (fs.FS, bool) {
	page, err := fs.Sub(folder, "dist")
	if err != nil {
		return nil, false
	}
	if _, err := fs.Stat(page, "index.html"); err != nil {
		return nil, false
	}
	return page, true
}
