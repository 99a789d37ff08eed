package bodies

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// TestDecodersAreFound expects a report for every decoding call, and none for raw bodies.
func TestDecodersAreFound(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "handlers")
}
