package api

import (
	"context"

	"github.com/gofiber/fiber/v2"

	"stampede/app"
)

// Pictures are what is shown of products.
type Pictures interface {
	// Picture reads a file by the last part of its address. NotFound when there is none.
	Picture(ctx context.Context, name string) ([]byte, app.ImageKind, error)
}

// imageTypes are the media types of pictures, by their kind.
var imageTypes = map[app.ImageKind]string{app.ImageJPEG: "image/jpeg", app.ImagePNG: "image/png"}

// image shows a picture of a product. What is under its address never changes, so browsers and proxies may keep it for
// ever.
func (a *api) image(c *fiber.Ctx) error {
	name := c.Params("file")
	ctx, cancel := context.WithTimeout(context.Background(), flowTimeout)
	defer cancel()
	content, kind, err := a.Pictures.Picture(ctx, name)
	if err != nil {
		return err
	}
	tag := `"` + name + `"`
	c.Set(fiber.HeaderETag, tag)
	c.Set(fiber.HeaderCacheControl, "public, max-age=31536000, immutable")
	if c.Get(fiber.HeaderIfNoneMatch) == tag {
		return c.SendStatus(fiber.StatusNotModified)
	}
	c.Set(fiber.HeaderContentType, imageTypes[kind])
	return c.Send(content)
}
