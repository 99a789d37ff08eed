// Package bodies reports calls that decode a body by its Content-Encoding without a limit: a few bytes can become
// gigabytes. Handlers read the raw body instead (app/api/body.go). The analyzer is one of the checks of
// deploy/tools/vet.
package bodies

import (
	"go/types"
	"slices"

	"golang.org/x/tools/go/analysis"
)

// Analyzer checks every used name, not only calls.
var Analyzer = &analysis.Analyzer{
	Name: "bodies",
	Doc:  "report calls that decode the body of a request or response without a limit",
	Run:  run,
}

const (
	fiber    = "github.com/gofiber/fiber/v2"
	fasthttp = "github.com/valyala/fasthttp"
)

// decoders are the functions, and the methods by their receiver, that decode a body or its form without a limit.
var decoders = map[string][]string{
	fiber + ".Ctx": {"Body", "BodyParser", "FormFile", "FormValue", "MultipartForm"},
	fasthttp + ".Request": {
		"BodyGunzip", "BodyInflate", "BodyUnbrotli", "BodyUncompressed", "BodyUnzstd", "MultipartForm",
	},
	fasthttp + ".Response":   {"BodyGunzip", "BodyInflate", "BodyUnbrotli", "BodyUncompressed", "BodyUnzstd"},
	fasthttp + ".RequestCtx": {"FormFile", "FormValue", "MultipartForm"},
	fasthttp: {
		"AppendGunzipBytes", "AppendInflateBytes", "AppendUnbrotliBytes", "AppendUnzstdBytes",
		"WriteGunzip", "WriteInflate", "WriteUnbrotli", "WriteUnzstd",
	},
}

// run checks every used name, so that it finds method values and embedded contexts as well as calls.
func run(pass *analysis.Pass) (any, error) {
	for name, object := range pass.TypesInfo.Uses {
		if f, ok := object.(*types.Func); ok && slices.Contains(decoders[owner(f)], f.Name()) {
			pass.Reportf(name.Pos(), "%s.%s decodes without a limit: read the raw body, as app/api/body.go does",
				owner(f), f.Name())
		}
	}
	return nil, nil
}

// owner returns the package of a function, or the package and the type of a method.
func owner(f *types.Func) string {
	if f.Pkg() == nil {
		return ""
	}
	receiver := f.Signature().Recv()
	if receiver == nil {
		return f.Pkg().Path()
	}
	t := receiver.Type()
	if pointer, ok := t.(*types.Pointer); ok {
		t = pointer.Elem()
	}
	named, ok := t.(*types.Named)
	if !ok {
		return ""
	}
	return f.Pkg().Path() + "." + named.Obj().Name()
}
