package realtime

import (
	"testing"

	"go.uber.org/goleak"

	"stampede/app/test/kit"
)

func TestMain(m *testing.M) {
	kit.Main(
		m,
		// Goroutines of the web server: a clock that never stops, and a worker cleanup that checks every 10 s whether
		// to stop.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}
