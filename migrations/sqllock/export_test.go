package sqllock

// NameIn is for tests.
var NameIn = nameIn
