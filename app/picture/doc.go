// Package picture converts an operator's upload into a picture for the public. No byte of the upload reaches a browser:
// the pixels are decoded, made upright, scaled down and encoded again. This removes comments, locations, thumbnails
// with other contents, scripts and appended files.
//
// The file's own description is not trusted: the first bytes decide the format, and the size in pixels is checked
// before decoding.
package picture
