// Package corpora sends the images that other projects test their decoders with through every codec of pelmill, and
// compares what comes back with what Pillow decodes. It is for tests only; "make corpora" runs it.
//
// The projects are listed in projects.go. Their files are not a part of the tree and are not downloaded: they lie in a
// folder that the caller names, each project as owner+name or name. A project that is not there is named and skipped.
//
// Every file is compressed with verification by each codec and decompressed again, in a process of its own with limits on
// memory and time, together with others. When such a process ends in another way than by its documented exit codes, the
// files are divided until the one that did it is alone.
//
// # Findings
//
//   - crash, memory, hang: the process ended by itself, for lack of memory, or was stopped after its time.
//   - failed: an object ended as "failed", for whatever class of error: what a source can hold is compressed, kept,
//     unsupported or rejected.
//   - decompress: a result was not decompressed.
//   - bytes: a codec that gives files back gave back another one.
//   - hash: two codecs were given different pictures of one file.
//   - pixels: what a lossless codec gave back, read by Pillow, is not what Pillow reads from the source.
//   - rejected: no codec was given the samples of a file that Pillow, and the library of its format, show without a warning.
//   - unsupported: the same of a file that may be sound, which Pillow reads without a warning.
//   - read: codecs were given the samples of a file that Pillow and the library of its format refuse.
//
// A picture that every lossless codec left as it is, because its result would be larger, or gave back as NIfTI, which Pillow
// does not read, is written by imageio instead, if it has the hash that the codecs' records name, and compared in the same
// way.
//
// A finding is explained when [Exceptions] has a reason for it.
//
// # What is compared
//
// Both files are turned upright, and palettes, grey, and 1 bit become RGBA of 8 bits; the colours of fully transparent
// pixels are not looked at. Grey of 9 to 16 bits is compared with all of its bits, other samples of 16 bits by their upper 8,
// because Pillow has no more of them. Every frame is compared, but for reduced copies in TIFF files and the pictures behind
// the first one of JPEG files, which are not frames. Where decoders may round in their own way, samples may be apart by what
// compare.py allows, at most 2. Pictures that Pillow does not read, or only as CMYK, YCbCr, Lab or
// floating point, which pelmill converts to RGB or refuses, have no reference and are not counted as compared; nor have
// those PNG, GIF and TIFF files that compare.py names, which Pillow draws in another way than browsers or the format's library.
package corpora
