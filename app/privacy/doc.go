// Package privacy gives people their data and deletes it. The promise: after a deletion nothing personal is left,
// except in orders that are not over; their addresses follow as soon as they are ([Eraser]).
package privacy
