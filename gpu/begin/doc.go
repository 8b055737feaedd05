// Package begin has NVIDIA's driver begin before main in a program that imports it, where the command line is a "pelmill compress" that
// opens all cards there are.
//
// The driver takes 13 to 35 ms to start and then 0.1 s for each card. The Go runtime and the packages of the program take 20 ms until main
// begins, in which the driver can be at work as well. A constructor of C looks at the command line (begin.c) and starts a thread for it
// (pelmill_begin of gpu/driver). Whoever opens the cards later, by package gpu, waits for what has begun, and finds out what went wrong.
//
// Without the build tag cuda, or without cgo, the package is empty.
package begin
