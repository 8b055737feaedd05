package worker

import (
	"os"
	"strconv"
	"strings"

	"github.com/pelmill/pelmill/imageio"
)

const (
	minMemory     = 16 << 20
	maxMemory     = 16 << 30 // of the default
	unknownMemory = 4 << 30  // assumed where the system does not say
)

// defaultMemory is half of what this process may use, by the machine and by its
// control group.
func defaultMemory() int64 {
	total := int64(unknownMemory)
	if data, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			f := strings.Fields(line) // "MemTotal:  24576000 kB"
			if len(f) >= 2 && f[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					total = n << 10
				}
			}
		}
	}
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(limit)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 {
			total = min(total, n)
		}
	}
	return min(max(total/2, minMemory), maxMemory)
}

// codecShare is how many times the samples of a picture a codec may hold while it
// encodes and decodes them: its planes or blocks, its working tables, the result,
// and the decoded picture that is compared.
const codecShare = 6

// weight is what an object takes of the picture budget.
func weight(h *imageio.Header) int64 {
	return h.DecodedBytes + codecShare*samples(h)
}

// samples is the size of the decoded picture in bytes.
func samples(h *imageio.Header) int64 {
	n := int64(h.Width) * int64(h.Height) * int64(h.Depth) * int64(h.Channels)
	if h.Bits > 8 {
		n *= 2
	}
	return n
}
