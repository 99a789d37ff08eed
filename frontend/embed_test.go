package frontend

import (
	"io/fs"
	"testing"
	"testing/fstest"
)

func TestPageInRequiresIndexHTML(t *testing.T) {
	t.Parallel()
	placeholder := fstest.MapFS{"dist/.gitkeep": {}}
	if _, ok := pageIn(placeholder); ok {
		t.Error("a folder with the placeholder alone counts as a page")
	}
	page, ok := pageIn(fstest.MapFS{"dist/.gitkeep": {}, "dist/index.html": {Data: []byte("<html>")}})
	if !ok {
		t.Fatal("a built page is not found")
	}
	if _, err := fs.Stat(page, "index.html"); err != nil {
		t.Errorf("index.html is not at the root: %v", err)
	}
}

// The placeholder keeps the folder in the repository; without it the embed directive does not compile.
func TestPlaceholderIsEmbedded(t *testing.T) {
	t.Parallel()
	if _, err := fs.Stat(built, "dist/.gitkeep"); err != nil {
		t.Errorf("the build must leave the placeholder in dist: %v", err)
	}
}
