// Package faults holds what the fault tests of pelmill are made of, and those tests. It is for tests only.
//
// A fault test starts real processes, breaks one thing while a job runs, lets the job come to its end, and then
// asks [Check] whether the promise held: every source has exactly one outcome, every result decodes to the right
// image, the counters are the sum of the records, and the target holds results and nothing else.
//
// The parts:
//
//   - [Build] compiles a program of the module once per test run, [Start] runs one as a process whose output is
//     shown when the test fails and which dies with the test.
//   - [Proxy] stands between pelmill and a store of S3, Google or Azure and refuses, cuts, falsifies, delays or swallows
//     calls.
//   - [Images] and [Poison] make sources from a seed, the same ones on every run.
//   - [Check] compares what a job left with those sources. It reads the target past the proxy and counts for
//     itself; nothing of the scheduler or the worker is used to check them.
//
// The program in faultworker is a worker whose codecs panic, hang or end the process, which no codec of the
// product should do.
//
// All kinds of faults are in one table, rows in rows_test.go: what is injected, what must hold, which tests of the ordinary
// run hold it, and which of the drivers in chaos_test.go does it for hours with "make chaos". model_test.go looks at every
// order of the job engine's steps.
//
// Everything listens on loopback. The tests are part of the ordinary run and are left out by -short; a service or
// a right that is missing skips a test, except that a missing service fails it where PELMILL_TEST=require.
package faults
