package api_test

import (
	"bytes"
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write openapi.yaml anew")

// The committed description is that of the code.
func TestTheDescriptionIsThatOfTheCode(t *testing.T) {
	t.Parallel()
	got, err := newRig(t, nil).api.Description()
	if err != nil {
		t.Fatal(err)
	}
	const file = "openapi.yaml"
	if *update {
		if err := os.WriteFile(file, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		os.WriteFile(file+".got", got, 0o666)
		t.Errorf("%s is not what the code gives; see %s.got, and run the test with -update if the change is meant", file, file)
	}
}
