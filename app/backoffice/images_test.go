package backoffice

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
	"stampede/app/store"
	"stampede/app/test/fakes"
	"stampede/app/test/kit"
)

// A picture is read once and then served from memory; the least recently used picture is evicted.
func TestPicturesAreKeptInMemory(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	half := picturesInMemory / 2
	s := kit.SQLite(t)
	for _, i := range []store.StoredImage{
		{ID: a, Kind: store.ImageJPEG, Large: bytes.Repeat([]byte("a"), half), Small: []byte("s")},
		{ID: b, Kind: store.ImagePNG, Large: bytes.Repeat([]byte("b"), half), Small: []byte("s")},
		{ID: c, Kind: store.ImageJPEG, Large: []byte("l"), Small: []byte("c")},
	} {
		fakes.Must(t, s.Images().SaveImage(kit.Context(t), &i))
	}
	p := NewPictures(s)
	read := func(name, want string) {
		t.Helper()
		content, kind, err := p.Picture(t.Context(), name)
		if err != nil || string(content[:1]) != want || !strings.HasSuffix(name, string(kind)) {
			t.Errorf("%s: got %q %s, %v; want %q", name, content[:min(1, len(content))], kind, err, want)
		}
	}
	read(a+".jpg", "a")
	read(b+".png", "b")
	read(a+".jpg", "a")
	read(c+".small.jpg", "c")
	fakes.Must(t, fakes.ErrOf(s.DB().ExecContext(kit.Context(t), "DELETE FROM images")))
	read(a+".jpg", "a")
	read(c+".small.jpg", "c")
	if _, _, err := p.Picture(t.Context(), b+".png"); !errors.Is(err, &shop.Error{Code: shop.NotFound}) {
		t.Errorf("an evicted picture: got %v, want not_found", err)
	}
	if p.bytes != half+1 {
		t.Errorf("got %d bytes in memory, want %d", p.bytes, half+1)
	}
}

// Names that are not picture names are not looked up.
func TestInvalidPictureNamesAreNotFound(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("a", 64)
	for _, name := range []string{
		"", hex, hex + ".", hex + ".gif", hex + ".jpeg", hex + ".small", hex + ".small.small.jpg", hex +
			"..jpg", hex + ".JPG",
		hex[1:] + ".jpg", strings.ToUpper(hex) + ".jpg", "../" + hex + ".jpg", hex + ".jpg.small", hex +
			".jpg\n", "%2e%2e",
	} {
		if _, _, err := NewPictures(nil).Picture(t.Context(), name); !errors.Is(err, &shop.Error{Code: shop.NotFound}) {
			t.Errorf("%q: got %v, want not_found", name, err)
		}
	}
}
