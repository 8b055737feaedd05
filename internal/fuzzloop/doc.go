// Package fuzzloop executes the inputs of a fuzz target one after the other in one loop of one process.
//
// go test -fuzz gives each input a test, a goroutine and a stack trace of its own and reads the counters of the coverage byte
// by byte, which takes 10 to 40 µs. Most parsers take 1 or 2 µs. Here the same mutators, counters and files of the corpus, which are
// those of Go's internal/fuzz, surround a call of the target, and one test serves many inputs.
//
// "make fuzz ENGINE=loop" compiles tests in which f.Fuzz is replaced by [Run]; cmd fuzzlog rewrites them. [Run] is compiled with
// the tag fuzzloop only, because it needs the linker's flag -checklinkname=0.
package fuzzloop
