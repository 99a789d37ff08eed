package kit

// NoRateLimits disables rate limits. It is for tests whose clients share one address or buy faster than people do.
// Tests of the limits themselves must not use it.
var NoRateLimits = []string{
	"STAMPEDE_HANDSHAKE_RATE=0", "STAMPEDE_BUY_RATE=0", "STAMPEDE_BUY_USER_RATE=0", "STAMPEDE_BUY_ALL_RATE=0",
	"STAMPEDE_LIST_PER_USER=0", "STAMPEDE_LIST_PER_IP=0", "STAMPEDE_AUTH_PER_USER=0", "STAMPEDE_AUTH_PER_IP=0",
	"STAMPEDE_ORDERS_PER_USER=0", "STAMPEDE_ORDERS_PER_IP=0",
}
