package sqllock

var NameIn = nameIn
