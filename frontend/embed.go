// Package frontend embeds the shopper's page and the operators' console in the binary. `npm run build` writes both to
// dist.
package frontend

import (
	"embed"
	"io/fs"
)

//go:embed all:dist
var built embed.FS

// Dist returns the built page, with index.html at its root; false if the binary was built without the page, so that
// dist has only the placeholder.
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
