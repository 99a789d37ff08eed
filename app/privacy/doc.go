// Package privacy exports and deletes personal data. After a deletion only orders that are not over contain personal
// data; their addresses are removed when they are over ([Eraser]).
package privacy
