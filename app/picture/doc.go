// Package picture makes of what an operator uploads a picture that can be shown to everybody. Nothing of the file that
// came in reaches a browser: the pixels are decoded, turned upright, made smaller and encoded anew, so comments,
// places,
// thumbnails with other contents, scripts and second files behind the first are gone with the rest of it.
//
// What a file says of itself is believed in no way: its first bytes decide what it is, and its size in pixels is known
// and bounded before a single one is decoded.
package picture
