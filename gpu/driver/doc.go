// Package driver finds NVIDIA's driver library at run time, so that one program
// starts on machines with and without it.
//
// gorgonia.org/cu links against libcuda and calls cuInit before main. Here all the
// entry points that it uses are defined by this package (jumps.S): each is a jump
// through a slot of a table (symbols.h). Before [Open] and where libcuda lacks a
// symbol, a slot leads to a function that returns 100, "no device". cuInit itself
// always succeeds and does nothing; [Open] loads the library, fills the table,
// initialises the driver and reports the truth. An empty libcuda.a in lib/ satisfies
// cu's -lcuda, and cu compiles against our own declarations in cuda.h, for which
// CPATH must name this folder. "make build" does.
//
// The package also has the few calls that cu lacks: pinned host memory, function
// attributes, names of errors, PCI addresses and the launch with packed parameters.
//
// Without the build tag cuda, or without cgo, the package is empty.
package driver
