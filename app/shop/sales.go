package shop

// Layer is where a press of Buy was turned away.
type Layer string

// The layers, the outermost first.
const (
	LayerPace  Layer = "pace"  // how often one may press: a user, an address, the shop
	LayerNode  Layer = "node"  // in memory of a node: the window, what is sold out, what cannot be read
	LayerRedis Layer = "redis" // the script that reserves, or nobody knows what it has done
)

var Layers = [...]Layer{LayerPace, LayerNode, LayerRedis}
