// Package series makes one object of the files of a DICOM series, and gives every file
// back bit by bit.
//
//	p := series.Group(files)              // volumes, by the headers
//	for i := range p.Images { ... }       // encode p.Image(i)
//	object := p.Object(codestreams)
//
//	o, err := series.Open(object)         // index and shells
//	file, err := o.Restore(i, images)     // one file, proved by its SHA-256
//
// # Volumes
//
// Slices of one volume have the same series, frame of reference, rows, columns,
// orientation (each cosine within 1e-4), pixel spacing, bits and photometric
// interpretation. They lie in the order of their positions along the normal of the
// slices, then of instance number, then of SOP Instance UID. Where positions repeat,
// acquisition number, temporal position, echo number and b-value part them; what
// still lies at one position goes to a second volume. Gaps and tilted gantries are no
// obstacle, as coding needs no equal spacing; rescale factors may differ, as stored
// values are coded. A volume has at least [MinSlices] slices. A file of several
// frames is a volume by itself, its frames in the order of the file.
//
// Slices that make no volume (localizers, slices without a position, fewer than
// MinSlices) are images of their own in the same object. Files that are no native image, or
// that would not come back bit by bit, are kept whole. [Plan.Reasons] counts both.
//
// # Object
//
//	codestreams of the images, one behind the other, volumes first
//	one zstd frame: length of the index in 8 bytes, little-endian; index in JSON; shells
//	trailer of 32 bytes: length of the frame and of its content in 8 bytes each,
//	    little-endian, and 16 bytes "pelmill series 1"
//
// So a reader of the codestream's format sees the largest volume. The index has the
// lengths of the codestreams and for each file its key, time, size and SHA-256, and
// how its pixel data are made of an image. A shell is a file without the bytes of its
// frames; those of a series hardly differ, which zstd finds.
//
// Decisions are made in integers: decimal strings become multiples of 1e-6.
package series
