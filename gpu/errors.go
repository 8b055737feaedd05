package gpu

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// ErrNoDevice says that no usable device of the requested kind exists. Programs
// end with exit code 7 on it.
var ErrNoDevice = errors.New("no usable device")

// ErrOutOfMemory says that a batch does not fit into the memory of its card or its
// budget: a smaller one may.
var ErrOutOfMemory = errors.New("out of device memory")

// ErrFatal says that the process has lost its card: nothing that it computed since
// can be trusted. Callers discard the batch, hand back their work and end the
// process.
var ErrFatal = errors.New("the card is lost to this process")

// The results of the driver that something depends on, by their numbers in cuda.h.
const (
	codeOutOfMemory    = 2
	codeNoDevice       = 100
	codeNoBinary       = 209
	codeInvalidPTX     = 218
	codeUnsupportedPTX = 222
)

// fatal holds the codes after which the process must end. For the first group
// NVIDIA's header says that the process is left in an inconsistent state and must be
// terminated and relaunched; the second is a card or a driver that is gone or cannot
// be trusted.
var fatal = map[int]bool{
	700: true, 702: true, 714: true, 715: true, 716: true, 717: true, 718: true, 719: true, 721: true, 810: true,

	4: true, 46: true, 101: true, 214: true, 220: true, 709: true, 999: true,
}

// Error is an error of the driver.
type Error struct {
	Card   int    // number of the card, -1 where none is concerned
	Call   string // function of the driver
	Kernel string // kernel that was launched or, of calls that wait, kernels that ran since the last wait; may be empty
	Code   int    // number of the driver's result
	Name   string // name of the driver's result
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("gpu: ")
	if e.Card >= 0 {
		fmt.Fprintf(&b, "card %d: ", e.Card)
	}
	b.WriteString(e.Call)
	if e.Kernel != "" {
		fmt.Fprintf(&b, " (%s)", e.Kernel)
	}
	fmt.Fprintf(&b, ": %s (%d)", e.Name, e.Code)
	return b.String()
}

// Is makes an Error match [ErrOutOfMemory] or [ErrFatal] by its code.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrOutOfMemory:
		return e.Code == codeOutOfMemory
	case ErrFatal:
		return fatal[e.Code]
	}
	return false
}

// HangError is a call of the driver that did not return in time. It matches
// [ErrFatal].
type HangError struct {
	Card   int    // -1 where none is concerned
	Call   string // function of the driver
	Kernel string // kernels that ran since the last wait; may be empty
	After  time.Duration
}

func (e *HangError) Error() string {
	text := "gpu: " + e.Call
	if e.Card >= 0 {
		text = fmt.Sprintf("gpu: card %d: %s", e.Card, e.Call)
	}
	if e.Kernel != "" {
		text += " (" + e.Kernel + ")"
	}
	return fmt.Sprintf("%s: did not return within %v", text, e.After)
}

// Is makes a HangError match [ErrFatal].
func (e *HangError) Is(target error) bool { return target == ErrFatal }

// isas lists the versions of PTX by the CUDA version that brought them and the first
// driver for Linux that reads them, from the release notes of the toolkits.
var isas = []struct {
	ptx    int // 63 for 6.3
	cuda   int // 10000 for 10.0, as the driver reports it
	driver string
}{
	{63, 10000, "410.48"}, {64, 10010, "418.39"}, {65, 10020, "440.33"},
	{70, 11000, "450.36"}, {71, 11010, "455.23"}, {72, 11020, "460.27"}, {73, 11030, "465.19"},
	{74, 11040, "470.42"}, {75, 11050, "495.29"}, {76, 11060, "510.39"}, {77, 11070, "515.43"}, {78, 11080, "520.61"},
	{80, 12000, "525.60"}, {81, 12010, "530.30"}, {82, 12020, "535.54"}, {83, 12030, "545.23"},
	{84, 12040, "550.54"}, {85, 12050, "555.42"}, {86, 12070, "565.57"}, {87, 12080, "570.26"}, {88, 12090, "575.51"},
}

// checkPTX says whether a driver for the CUDA version reads PTX of the version.
func checkPTX(ptx, cuda int) error {
	least, need := firstDriver(ptx)
	switch {
	case least == 0:
		return fmt.Errorf("kernels in PTX %d.%d: unknown version: %w", ptx/10, ptx%10, ErrNoDevice)
	case cuda >= least:
		return nil
	}
	return fmt.Errorf("the driver is for CUDA %s, kernels in PTX %d.%d need %s: %w", cudaVersion(cuda), ptx/10, ptx%10, need, ErrNoDevice)
}

// firstDriver is the first driver that reads PTX of the version: its CUDA version, and
// in words. 0 where the version is unknown.
func firstDriver(ptx int) (cuda int, words string) {
	for _, i := range isas {
		if i.ptx >= ptx {
			return i.cuda, fmt.Sprintf("one for CUDA %s (driver %s) or later", cudaVersion(i.cuda), i.driver)
		}
	}
	return 0, ""
}

// cudaVersion renders 12080 as "12.8".
func cudaVersion(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }
