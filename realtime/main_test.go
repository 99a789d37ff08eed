package realtime

import (
	"testing"

	"go.uber.org/goleak"

	"stampede/app/test/kit"
)

func TestMain(m *testing.M) {
	kit.Main(
		m,
		// The web server's own: a clock that never stops, and a broom that wakes every ten seconds to see that it may
		// go.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}
