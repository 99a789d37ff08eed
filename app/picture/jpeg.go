package picture

import "encoding/binary"

// Markers of JPEG that matter here.
const (
	markerProgressive = 0xc2 // SOF2
	markerScan        = 0xda // SOS: compressed data from here on
	markerExif        = 0xe1 // APP1
)

// segments walks through the segments in front of the first scan: fn gets the marker and what the segment has, and
// reports whether to go on. A damaged file ends the walk.
func segments(file []byte, fn func(marker byte, content []byte) bool) {
	for at := 2; at+4 <= len(file); {
		if file[at] != 0xff {
			return
		}
		marker := file[at+1]
		if marker == 0xff { // fill byte
			at++
			continue
		}
		length := int(binary.BigEndian.Uint16(file[at+2:]))
		if marker == markerScan || length < 2 || at+2+length > len(file) || !fn(marker, file[at+4:at+2+length]) {
			return
		}
		at += 2 + length
	}
}

// progressive reports whether the file keeps all coefficients until its end, or might: one that is not understood up to
// its frame counts as such.
func progressive(file []byte) bool {
	is := true
	segments(file, func(marker byte, _ []byte) bool {
		frame := marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc
		if frame {
			is = marker == markerProgressive
		}
		return !frame
	})
	return is
}

// orientation reads how a camera was held. It is all that is taken of EXIF; without it pictures of phones would lie on
// their side, because what says so is thrown away. Whatever is damaged says nothing.
func orientation(file []byte) turn {
	found := upright
	segments(file, func(marker byte, content []byte) bool {
		if marker == markerExif && len(content) > 6 && string(content[:6]) == "Exif\x00\x00" {
			found = exifOrientation(content[6:])
			return false
		}
		return true
	})
	return found
}

const tagOrientation = 0x0112

// exifOrientation looks into the first directory of a TIFF head.
func exifOrientation(tiff []byte) turn {
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
			return turnOf(order.Uint16(tiff[first+8:]))
		}
		at += entry
	}
	return upright
}
