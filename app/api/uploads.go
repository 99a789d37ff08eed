package api

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"
	"github.com/valyala/fasthttp"

	"stampede/app/backoffice"
	"stampede/app/journal"
	"stampede/app/shop"
	"stampede/app/store"
)

const (
	uploadLimit   = 8 << 20     // maximum size of an operator's file, bytes
	formMargin    = 16 << 10    // maximum size of the form around a file, bytes
	operatorLimit = 512 << 10   // maximum size of other bodies of operators, bytes
	uploadTimeout = time.Minute // for reading a file and for sending the response
)

const operatorPath = apiPath + "/operator/"

// uploadPaths lists the paths that accept files.
var uploadPaths = []string{operatorPath + "images", operatorPath + "import/"}

// configure sets the limits of a request after its header was read.
func (s *HTTPServer) configure(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	path := string(h.RequestURI())
	if s.IsOperator == nil || h.IsGet() || !strings.HasPrefix(path, operatorPath) {
		return c
	}
	scheme, token, _ := strings.Cut(string(h.Peek(fiber.HeaderAuthorization)), " ")
	if !strings.EqualFold(scheme, "Bearer") || !s.IsOperator(strings.TrimSpace(token)) {
		return c
	}
	c.MaxRequestBodySize = operatorLimit
	for _, prefix := range uploadPaths {
		if strings.HasPrefix(path, prefix) {
			c.MaxRequestBodySize, c.ReadTimeout, c.WriteTimeout = uploadLimit+formMargin, uploadTimeout, uploadTimeout
		}
	}
	return c
}

// fileOf returns the body, or the first file of a form. The name and the type of the file are ignored.
func fileOf(c *fiber.Ctx) ([]byte, error) {
	body := raw(c)
	kind, parameters, err := mime.ParseMediaType(c.Get(fiber.HeaderContentType))
	if err == nil && kind == fiber.MIMEMultipartForm {
		if body, err = firstFile(body, parameters["boundary"]); err != nil {
			return nil, err
		}
	}
	switch {
	case len(body) == 0:
		return nil, shop.Fail(shop.BadRequest, "the request has no file")
	case len(body) > uploadLimit:
		return nil, fiber.NewError(fiber.StatusRequestEntityTooLarge, "the file is too large: the limit is 8 MiB")
	}
	return body, nil
}

// firstFile returns the first file of a form that is already in memory.
func firstFile(body []byte, boundary string) ([]byte, error) {
	if boundary == "" {
		return nil, shop.Fail(shop.BadRequest, "the form cannot be read: it has no boundary")
	}
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, shop.Fail(shop.BadRequest, "the form has no file")
		}
		if err != nil {
			return nil, shop.Fail(shop.BadRequest, "the form cannot be read")
		}
		if part.FileName() == "" {
			continue
		}
		file, err := io.ReadAll(part)
		if err != nil {
			return nil, shop.Fail(shop.BadRequest, "the form cannot be read: it ends too early")
		}
		return file, nil
	}
}

func (h *catalogueHandlers) uploadImage(c *fiber.Ctx, actor journal.Actor) error {
	file, err := fileOf(c)
	if err != nil {
		return err
	}
	return respond(c, func(ctx context.Context) (backoffice.UploadedImage, error) {
		return h.Catalogue.Products().UploadImage(ctx, actor, file)
	})
}

var imageTypes = map[store.ImageKind]string{store.ImageJPEG: "image/jpeg", store.ImagePNG: "image/png"}

// image sends a picture. The picture of a name never changes, so browsers and proxies may cache it.
func (h *shopHandlers) image(c *fiber.Ctx) error {
	name := c.Params("file")
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	content, kind, err := h.Pictures.Picture(ctx, name)
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
