package worker

import (
	"fmt"
	"os"
	"testing"

	"github.com/pelmill/pelmill/storage"
)

// The encoder of records is one for the process, and what waits for it belongs to the bubble of synctest that uses it first. Then no
// test outside that bubble may use it.
func TestMain(m *testing.M) {
	if _, err := storage.AppendFrame(nil, []byte("{}\n")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
