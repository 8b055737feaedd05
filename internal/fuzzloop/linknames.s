//go:build fuzzloop && linux

// The functions of internal/fuzz are declared without bodies, which the compiler allows in a package that has assembly.
