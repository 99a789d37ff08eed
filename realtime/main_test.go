package realtime

import (
	"testing"

	"go.uber.org/goleak"

	"stampede/app/apptest"
)

func TestMain(m *testing.M) {
	apptest.Main(
		m,
		// A clock that the web server starts once and never stops.
		goleak.IgnoreTopFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
	)
}
