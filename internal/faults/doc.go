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
//   - [Proxy] stands between pelmill and an S3 store and refuses, cuts, falsifies, delays or swallows calls.
//   - [Images] and [Poison] make sources from a seed, the same ones on every run.
//   - [Check] compares what a job left with those sources. It reads the target past the proxy and counts for
//     itself; nothing of the scheduler or the worker is used to check them.
//
// The program in faultworker is a worker whose codecs panic, hang or end the process, which no codec of the
// product should do.
//
// Everything listens on loopback. The tests are part of the ordinary run and are left out by -short; a service or
// a right that is missing skips a test, except that a missing service fails it where PELMILL_TEST=require.
package faults
