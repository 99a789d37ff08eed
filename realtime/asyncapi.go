package realtime

import _ "embed"

// AsyncAPI describes the format of every frame. PROTOCOL.md describes their order and meaning.
//
//go:embed asyncapi.yaml
var AsyncAPI []byte
