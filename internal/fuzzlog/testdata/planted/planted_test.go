package planted

import (
	"os"
	"syscall"
	"testing"
)

func FuzzStands(f *testing.F) {
	f.Add([]byte("seed"), 7, "text", true, uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, n int, text string, flag bool, small uint8) {
		if n%5000 == 1234 {
			t.TempDir()
		}
		if At(data) == 1 || n%3 == 0 {
			t.Skip("not this one")
		}
	})
}

func FuzzPanics(f *testing.F) {
	f.Add([]byte("seed"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if At(data) == 3 {
			panic("fault")
		}
	})
}

func FuzzFails(fz *testing.F) {
	fz.Fuzz(func(t *testing.T, text string) {
		if At([]byte(text)) == 3 {
			t.Fatal("fault")
		}
	})
}

// FuzzDies ends its process at an input, but not where the variable is set.
func FuzzDies(f *testing.F) {
	f.Fuzz(func(t *testing.T, n uint16, data []byte) {
		if At(data) == 3 && os.Getenv("PLANTED_STANDS") == "" {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	})
}
