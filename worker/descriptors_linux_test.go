package worker

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// There is room for as many files as a worker has open, and none of them is.
func TestRoomForDescriptors(t *testing.T) {
	before, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	growDescriptors()
	after, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	if len(after) > len(before) {
		t.Errorf("%d files are open, %d were", len(after), len(before))
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "FDSize:")
	line, _, _ := strings.Cut(rest, "\n")
	if size, err := strconv.Atoi(strings.TrimSpace(line)); err != nil || size < 2048 {
		t.Errorf("room for %q files, %v", line, err)
	}
}
