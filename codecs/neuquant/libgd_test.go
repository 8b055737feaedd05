package neuquant

import (
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/raster"
)

// libgd runs the NeuQuant of libgd on RGB images, on one core, and returns the
// processor time from pixels to pixels and the mean PSNR. The program is libgd-neuquant
// where that is on the PATH, or made of testdata/libgd.c where libgd-dev is installed.
func libgd(t testing.TB, images []*raster.Image, sample int) (took time.Duration, psnr float64, err error) {
	dir := t.TempDir()
	program, err := exec.LookPath("libgd-neuquant")
	if err != nil {
		program = filepath.Join(dir, "libgd-neuquant")
		if text, err := exec.Command("cc", "-O2", "-o", program, filepath.Join("testdata", "libgd.c"), "-lgd").CombinedOutput(); err != nil {
			return 0, 0, fmt.Errorf("libgd-neuquant is not there, and cannot be made without libgd-dev: %v: %.200s", err, text)
		}
	}
	args := []string{fmt.Sprint(sample)}
	for i, m := range images {
		name := filepath.Join(dir, fmt.Sprintf("%d.ppm", i))
		data := fmt.Appendf(nil, "P6 %d %d 255\n", m.Width, m.Height)
		if err := os.WriteFile(name, append(data, m.Pix...), 0o600); err != nil {
			return 0, 0, err
		}
		args = append(args, name)
	}
	text, err := exec.Command(program, args...).Output()
	if err != nil {
		return 0, 0, fmt.Errorf("libgd-neuquant: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		var pixels int
		var seconds, squares float64
		if _, err := fmt.Sscan(line, &pixels, &seconds, &squares); err != nil {
			return 0, 0, fmt.Errorf("libgd-neuquant says %q: %w", line, err)
		}
		took += time.Duration(seconds * float64(time.Second))
		psnr += 10 * math.Log10(255*255*3*float64(pixels)/squares) / float64(len(images))
	}
	return took, psnr, nil
}
