//go:build cuda && cgo

package begin

// #cgo CFLAGS: -I${SRCDIR}/../driver
// #include <stdlib.h>
// int pelmill_opens_cards(const char *line, size_t n);
import "C"

import (
	"strings"
	"unsafe"

	_ "github.com/pelmill/pelmill/gpu/driver" // has pelmill_begin
)

// opensCards reports whether the driver begins for a command line.
func opensCards(words ...string) bool {
	line := strings.Join(words, "\x00") + "\x00"
	text := C.CBytes([]byte(line))
	defer C.free(text)
	return C.pelmill_opens_cards((*C.char)(unsafe.Pointer(text)), C.size_t(len(line))) != 0
}
