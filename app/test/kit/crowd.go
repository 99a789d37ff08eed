package kit

// Crowd are settings for tests in which everybody comes from one address, and presses faster than people do. Tests of
// the limits themselves run without them.
var Crowd = []string{
	"STAMPEDE_HANDSHAKE_RATE=0", "STAMPEDE_BUY_RATE=0", "STAMPEDE_BUY_USER_RATE=0", "STAMPEDE_BUY_ALL_RATE=0",
}
