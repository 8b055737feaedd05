package imageio

import (
	"sync"
	"testing"
)

// The functions keep no state: many files of all formats are read and written at once, which the race detector watches,
// and each gives what it gives alone.
func TestAllFormatsAtOnce(t *testing.T) {
	files := goodFiles(t)
	alone := map[string]string{}
	for name, data := range files {
		m, err := Decode(data, nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		alone[name] = m.Hash()
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for name, data := range files {
				if _, err := ReadHeader(data, nil); err != nil {
					t.Errorf("%s: header: %v", name, err)
				}
				m, err := Decode(data, nil)
				if err != nil || m.Hash() != alone[name] {
					t.Errorf("%s: another image beside other calls (%v)", name, err)
					continue
				}
				if _, err := Encode(m, FormatFor(m)); err != nil {
					t.Errorf("%s: encode: %v", name, err)
				}
			}
		})
	}
	all.Wait()
}
