// Package board counts the activity of the shop and shows it to operators. Each node publishes its counts ([Flow]) and
// its state ([NodeFigures]) once a second. The [Reader] adds up the counts of all nodes, and adds the numbers of sales
// and partitions in Redis. Counting costs a buy one or two additions.
//
//	node ── [Feed], once a second ─▶ Redis: figures of the node │ every 5 s one node: a point of the history
//	                                        │
//	board on a socket, GET /operator/board, `stampede status` ◀── [Reader] ── alarms (alarms.go)
package board
