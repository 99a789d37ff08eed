package shop

// ByteOrderMark is at the start of text files of some Windows programs.
const ByteOrderMark = "\ufeff"
