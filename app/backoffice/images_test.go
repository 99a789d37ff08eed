package backoffice

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"stampede/app/shop"
)

type imageShelf map[string][]byte

func (s imageShelf) ImageFile(_ context.Context, id string, kind ImageKind, small bool) ([]byte, error) {
	name := id + "." + string(kind)
	if small {
		name += " small"
	}
	if file, ok := s[name]; ok {
		return file, nil
	}
	return nil, shop.ErrNoRow
}

// A picture is read once and then shown from memory, in which the one that was not used for longest makes room.
func TestPicturesAreKeptInMemory(t *testing.T) {
	t.Parallel()
	a, b, c := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	source := imageShelf{
		a + ".jpg": bytes.Repeat([]byte("a"), picturesInMemory/2), b + ".png": bytes.Repeat([]byte("b"),
			picturesInMemory/2),
		c + ".jpg small": []byte("c"),
	}
	p := NewPictures(source)
	read := func(name, want string) {
		t.Helper()
		content, kind, err := p.Picture(t.Context(), name)
		if err != nil || string(content[:1]) != want || !strings.HasSuffix(name, string(kind)) {
			t.Errorf("%s: %q %s, %v", name, content[:min(1, len(content))], kind, err)
		}
	}
	read(a+".jpg", "a")
	read(b+".png", "b")
	read(a+".jpg", "a")
	read(c+".small.jpg", "c")
	clear(source)
	read(a+".jpg", "a")
	read(c+".small.jpg", "c")
	if _, _, err := p.Picture(t.Context(), b+".png"); !errors.Is(err, &shop.Error{Code: shop.NotFound}) {
		t.Errorf("what made room is still there: %v", err)
	}
	if p.bytes != picturesInMemory/2+1 {
		t.Errorf("%d bytes are kept", p.bytes)
	}
}

// Names that are none of a picture are not looked for.
func TestPictureNames(t *testing.T) {
	t.Parallel()
	hex := strings.Repeat("a", 64)
	for _, name := range []string{
		"", hex, hex + ".", hex + ".gif", hex + ".jpeg", hex + ".small", hex + ".small.small.jpg", hex +
			"..jpg", hex + ".JPG",
		hex[1:] + ".jpg", strings.ToUpper(hex) + ".jpg", "../" + hex + ".jpg", hex + ".jpg.small", hex +
			".jpg\n", "%2e%2e",
	} {
		if _, _, err := NewPictures(nil).Picture(t.Context(), name); !errors.Is(err, &shop.Error{Code: shop.NotFound}) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
