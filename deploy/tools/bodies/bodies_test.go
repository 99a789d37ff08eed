package bodies

import (
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"
)

// Every way to a decoded body is found, and raw ones are let pass.
func TestDecodersAreFound(t *testing.T) {
	analysistest.Run(t, analysistest.TestData(), Analyzer, "handlers")
}
