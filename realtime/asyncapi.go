package realtime

import _ "embed"

// AsyncAPI describes the form of every frame, for people and their tools; PROTOCOL.md tells how they play together.
//
//go:embed asyncapi.yaml
var AsyncAPI []byte
