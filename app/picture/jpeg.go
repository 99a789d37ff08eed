package picture

import (
	"bytes"
	"encoding/binary"
)

// The JPEG markers used here.
const (
	markerProgressive = 0xc2 // SOF2
	markerRestart     = 0xd0 // RST0, the first of eight
	markerEnd         = 0xd9 // EOI
	markerScan        = 0xda // SOS: compressed data follows
	markerExif        = 0xe1 // APP1
)

// segments calls fn with the marker and the content of each segment up to the end of the image, until fn returns false.
// Like the decoder of the standard library it skips compressed data, restart markers and stray bytes between segments.
func segments(file []byte, fn func(marker byte, content []byte) bool) {
	for at := 2; ; {
		skip := bytes.IndexByte(file[at:], 0xff)
		if skip < 0 {
			return
		}
		for at += skip; at < len(file) && file[at] == 0xff; { // further 0xff bytes are fill bytes
			at++
		}
		if at+3 > len(file) {
			return
		}
		marker := file[at]
		at++
		if marker == 0 || marker >= markerRestart && marker < markerRestart+8 {
			continue
		}
		length := int(binary.BigEndian.Uint16(file[at:]))
		if marker == markerEnd || length < 2 || at+length > len(file) || !fn(marker, file[at+2:at+length]) {
			return
		}
		at += length
	}
}

// scans counts the scans: each makes the decoder visit all blocks of a component, even if the scan is empty.
func scans(file []byte) (n int) {
	segments(file, func(marker byte, _ []byte) bool {
		if marker == markerScan {
			n++
		}
		return true
	})
	return n
}

// progressive reports whether the decoder keeps all coefficients until the end of the file. A file without a readable
// frame header counts as progressive.
func progressive(file []byte) bool {
	keepsAll := true
	segments(file, func(marker byte, _ []byte) bool {
		frame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
		if frame {
			keepsAll = marker == markerProgressive
		}
		return !frame && marker != markerScan
	})
	return keepsAll
}

// orientation reads the camera orientation, the only EXIF value that is used. Without it, phone pictures would be
// rotated, because the EXIF data is removed. Damaged data counts as upright.
func orientation(file []byte) transform {
	found := upright
	segments(file, func(marker byte, content []byte) bool {
		if marker == markerExif && len(content) > 6 && string(content[:6]) == "Exif\x00\x00" {
			found = exifOrientation(content[6:])
			return false
		}
		return marker != markerScan
	})
	return found
}

const tagOrientation = 0x0112

// exifOrientation reads the first directory of a TIFF header.
func exifOrientation(tiff []byte) transform {
	if len(tiff) < 8 {
		return upright
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch string(tiff[:4]) {
	case "II*\x00":
	case "MM\x00*":
		order = binary.BigEndian
	default:
		return upright
	}
	at := int64(order.Uint32(tiff[4:]))
	if at+2 > int64(len(tiff)) {
		return upright
	}
	for left := int(order.Uint16(tiff[at:])); left > 0; left-- {
		const entry = 12
		first := at + 2
		if first+entry > int64(len(tiff)) {
			return upright
		}
		if order.Uint16(tiff[first:]) == tagOrientation {
			return transformOf(order.Uint16(tiff[first+8:]))
		}
		at += entry
	}
	return upright
}
