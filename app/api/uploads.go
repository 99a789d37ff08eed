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

	"stampede/app"
)

const (
	// uploadLimit is how long a file may be that an operator sends; a form around it may take a little more.
	uploadLimit = 8 << 20
	formMargin  = 16 << 10
	// operatorLimit is how long other bodies of operators may be: descriptions are longer than what shoppers send.
	operatorLimit = 512 << 10
	// uploadTimeout is how long sending a file may take, and answering.
	uploadTimeout = time.Minute
)

const operatorPath = apiPath + "/operator/"

// uploadPaths are where files are taken.
var uploadPaths = []string{operatorPath + "images", operatorPath + "import/"}

// AllowLong says whose bodies may be longer than bodyLimit: those of tokens for which the function reports true, on the
// routes of operators. It is asked before any of the body is read, so nobody else's takes memory. Until it is called,
// nobody's may.
func (f *HTTPServer) AllowLong(isOperator func(token string) bool) { f.isOperator.Store(&isOperator) }

// configure sets the limits of a request once its header is known.
func (f *HTTPServer) configure(h *fasthttp.RequestHeader) (c fasthttp.RequestConfig) {
	isOperator, path := f.isOperator.Load(), string(h.RequestURI())
	if isOperator == nil || h.IsGet() || !strings.HasPrefix(path, operatorPath) {
		return c
	}
	scheme, token, _ := strings.Cut(string(h.Peek(fiber.HeaderAuthorization)), " ")
	if !strings.EqualFold(scheme, "Bearer") || !(*isOperator)(strings.TrimSpace(token)) {
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

// sentFile is the file that was sent, and whether it is only to be tried.
func sentFile(c *fiber.Ctx) (dry bool, file []byte, err error) {
	if dry, err = dryRun(c); err == nil {
		file, err = fileOf(c)
	}
	return dry, file, err
}

// fileOf is the file that was sent: the body itself, or the first file of a form. What it calls itself, its name and
// its type are ignored.
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
		return nil, app.Fail(app.BadRequest, "there is no file in the request")
	case len(body) > uploadLimit:
		return nil, fiber.NewError(fiber.StatusRequestEntityTooLarge, "the file is too large: at most 8 MiB are taken")
	}
	return body, nil
}

// firstFile walks through a form, which is in memory already and is copied no further than the limit of the body.
func firstFile(body []byte, boundary string) ([]byte, error) {
	if boundary == "" {
		return nil, app.Fail(app.BadRequest, "the form cannot be read: it has no boundary")
	}
	form := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := form.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, app.Fail(app.BadRequest, "there is no file in the form")
		}
		if err != nil {
			return nil, app.Fail(app.BadRequest, "the form cannot be read")
		}
		if part.FileName() == "" {
			continue
		}
		file, err := io.ReadAll(part)
		if err != nil {
			return nil, app.Fail(app.BadRequest, "the form cannot be read: it ends too early")
		}
		return file, nil
	}
}

// uploadImage keeps a picture.
func (a *api) uploadImage(c *fiber.Ctx, actor app.Actor) error {
	dry, file, err := sentFile(c)
	if err != nil {
		return err
	}
	return flow(c, func(ctx context.Context) (app.UploadedImage, error) {
		return a.Catalogue.UploadImage(ctx, actor, dry, file)
	})
}
