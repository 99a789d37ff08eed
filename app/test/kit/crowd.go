package kit

// Crowd are settings for tests in which everybody comes from one address, and presses faster than people do. Tests of
// the limits themselves run without them.
var Crowd = []string{
	"STAMPEDE_HANDSHAKE_RATE=0", "STAMPEDE_BUY_RATE=0", "STAMPEDE_BUY_USER_RATE=0", "STAMPEDE_BUY_ALL_RATE=0",
	"STAMPEDE_LIST_PER_USER=0", "STAMPEDE_LIST_PER_IP=0", "STAMPEDE_AUTH_PER_USER=0", "STAMPEDE_AUTH_PER_IP=0",
	"STAMPEDE_ORDERS_PER_USER=0", "STAMPEDE_ORDERS_PER_IP=0",
}
