package backoffice

import (
	"container/list"
	"context"
	"errors"
	"strings"
	"sync"

	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

// UploadedImage contains the addresses and the size of a picture.
type UploadedImage struct {
	ID     string          `json:"id"`
	URL    string          `json:"url"`       // longer side at most 1,600 pixels
	Small  string          `json:"small_url"` // longer side at most 400 pixels
	Kind   store.ImageKind `json:"kind"`
	Width  int             `json:"width"` // of the large picture
	Height int             `json:"height"`
	Bytes  int             `json:"bytes"`
}

// smallSuffix precedes the extension in the address of a small picture.
const smallSuffix = ".small"

func uploaded(i *store.StoredImage) UploadedImage {
	return UploadedImage{
		ID: i.ID, URL: i.URL(), Small: "/images/" + i.ID + smallSuffix + "." + string(i.Kind), Kind: i.Kind, Width: i.Width,
		Height: i.Height, Bytes: len(i.Large),
	}
}

// UploadImage stores the picture made from an uploaded file and returns its addresses. The same file gives the same
// picture.
func (ps Products) UploadImage(
	ctx context.Context, actor journal.Actor, file []byte,
) (UploadedImage, error) {
	image, err := ps.MakeImage(ctx, file)
	if err != nil {
		return UploadedImage{}, err
	}
	shown := uploaded(&image)
	return store.RunOperationFor[UploadedImage](ctx, ps.Store, actor, func(tx *store.Store) (journal.Operation, error) {
		return journal.Operation{
			Kind: "image.upload", Object: "image:" + image.ID, After: shown, Result: shown,
		}, tx.Images().SaveImage(ctx, &image)
	})
}

const (
	// picturesInMemory is the size of a node's picture cache in bytes.
	picturesInMemory = 64 << 20
	// pictureReads is the number of pictures that a node reads from the database concurrently: requests for missing
	// pictures must not occupy all connections.
	pictureReads = 4
)

// Pictures is an LRU cache of picture files. Pictures never change, so entries do not expire.
type Pictures struct {
	store *store.Store
	reads chan struct{}

	mu    sync.Mutex
	bytes int
	used  *list.List // of *pictureFile, most recently used first
	files map[string]*list.Element
}

type pictureFile struct {
	name    string
	content []byte
}

// NewPictures returns an empty cache for the pictures of the store.
func NewPictures(from *store.Store) *Pictures {
	return &Pictures{
		store: from, reads: make(chan struct{}, pictureReads), used: list.New(),
		files: make(map[string]*list.Element),
	}
}

// Picture returns a file by the last part of its address. NotFound: no such picture.
func (p *Pictures) Picture(ctx context.Context, name string) ([]byte, store.ImageKind, error) {
	id, kind, small, ok := parsePictureName(name)
	if !ok {
		return nil, "", shop.Fail(shop.NotFound, "no such picture")
	}
	if content := p.find(name); content != nil {
		return content, kind, nil
	}
	select {
	case p.reads <- struct{}{}:
		defer func() { <-p.reads }()
	case <-ctx.Done():
		return nil, "", shop.FailBusy("cannot read pictures right now", shop.BusyRetry)
	}
	if content := p.find(name); content != nil { // another request has read it in the meantime
		return content, kind, nil
	}
	content, err := p.store.Images().ImageFile(ctx, id, kind, small)
	switch {
	case errors.Is(err, shop.ErrNoRow):
		return nil, "", shop.Fail(shop.NotFound, "no such picture")
	case err != nil:
		return nil, "", shop.Unavailable("pictures", err)
	}
	p.cache(&pictureFile{name, content})
	return content, kind, nil
}

// parsePictureName parses <64 hex digits>[.small].<kind>.
func parsePictureName(name string) (id string, kind store.ImageKind, small, ok bool) {
	bare, ending, _ := strings.Cut(name, ".")
	if extension, isSmall := strings.CutPrefix("."+ending, smallSuffix+"."); isSmall {
		small, ending = true, extension
	}
	ok = imageAddress.MatchString("/images/" + bare + "." + ending)
	return bare, store.ImageKind(ending), small, ok
}

func (p *Pictures) find(name string) []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.files[name]
	if e == nil {
		return nil
	}
	p.used.MoveToFront(e)
	return e.Value.(*pictureFile).content
}

// cache adds a file and evicts the least recently used ones until the cache fits its limit.
func (p *Pictures) cache(f *pictureFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.files[f.name] != nil {
		return
	}
	p.files[f.name] = p.used.PushFront(f)
	for p.bytes += len(f.content); p.bytes > picturesInMemory; {
		oldest := p.used.Back()
		evicted := p.used.Remove(oldest).(*pictureFile)
		delete(p.files, evicted.name)
		p.bytes -= len(evicted.content)
	}
}
