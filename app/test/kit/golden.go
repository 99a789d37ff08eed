package kit

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// GoldenFrames reads all frames of a direction, "client" or "server", from folder, the path to
// realtime/testdata/protocol. Keys are "file/name". Values are the exact bytes on the wire. The page's tests read the
// same files.
func GoldenFrames(t testing.TB, folder, direction string) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("kit: no golden frames in %s: %v", folder, err)
	}
	frames := make(map[string][]byte)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list []struct {
			Name, Direction string
			Frame           json.RawMessage
		}
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, golden := range list {
			if golden.Direction != direction {
				continue
			}
			name := strings.TrimSuffix(filepath.Base(file), ".json") + "/" + golden.Name
			if frames[name] != nil {
				t.Errorf("%s is defined twice", name)
			}
			var frame bytes.Buffer
			if err := json.Compact(&frame, golden.Frame); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			frames[name] = frame.Bytes()
		}
	}
	return frames
}
