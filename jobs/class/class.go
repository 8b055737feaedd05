// Package class has the classes of errors in records of objects: a word that programs
// can compare, beside the sentence for people.
package class

// The classes, as they stand in [github.com/pelmill/pelmill/jobs.Result].
const (
	Malformed = "malformed" // the source is damaged
	Limit     = "limit"     // the source is over a limit
	Format    = "format"    // no reader for it
	Image     = "picture"   // the codec does not take such an image
	Missing   = "missing"   // the source no longer exists
	Key       = "key"       // no object can or may be read or written under its key, or a line of the manifest names none
	Changed   = "changed"   // the source kept changing while it was read
	Storage   = "storage"   // storage failed after retries
	Exists    = "exists"    // the target holds something that is not ours
	Verify    = "verify"    // the result does not decode to the image
	Quality   = "quality"   // the result is below the floor of PSNR
	Codec     = "codec"     // the codec failed or panicked
	Crash     = "crash"     // the object ended worker processes
	Timeout   = "timeout"   // the codec did not end in time
	Device    = "device"    // the device failed
	View      = "view"      // the file holds no such part or resolution of its image, which is decompressed
)

// Unsupported reports whether a class is that of objects that are no failures: nothing takes such a file or image.
func Unsupported(class string) bool { return class == Format || class == Image }

// All gives the classes.
func All() []string {
	return []string{Malformed, Limit, Format, Image, Missing, Key, Changed, Storage, Exists, Verify, Quality, Codec, Crash, Timeout, Device, View}
}
