// Package dicom reads and writes files of DICOM (PS3.10) as bytes: it finds where elements lie,
// and makes from a file another one in which nothing but the pixel data and what must follow
// them is changed.
//
// # Parts
//
//	meta.go        preamble and file meta information: transfer syntax, the UIDs of class and instance
//	walk.go        elements with their offsets, nested ones too; no value is copied
//	dictionary.go  value representations and keywords by tag, generated from PS3.6
//	file.go        a file opened: its data set, what the rewriter needs to know of it
//	fragments.go   encapsulated pixel data: offset tables, fragments joined to frames
//	pixels.go      native pixel data: frames as interleaved little-endian samples, and back
//	classify.go    whether a file can be rewritten, and the reason if not
//	rewrite.go     the new file; implicit.go: from a data set that has to be written anew
//	parse.go       another parser, written apart from the walker, for the proof
//	check.go       the proof: source and result, as that parser reads them, are compared; checkpixels.go: codestreams and samples
//
// # Guarantees
//
// Nothing panics on hostile input. Memory is taken for what was seen and never for a length that
// a file claims; sequences nest up to [MaxNesting] deep. Errors are those of package container.
//
// # Privacy
//
// Errors and reasons name tags, value representations, lengths and transfer syntaxes. They hold
// no value of an element, no UID of an instance and no byte of pixel data.
package dicom
