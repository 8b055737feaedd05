//go:build cuda && cgo

package begin

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/driver"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// roleVariable says what a process of this test binary does in place of tests.
const roleVariable = "PELMILL_TEST_ROLE"

func TestMain(m *testing.M) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	fmt.Println("begun", driver.Begun())
	switch role {
	case "holds":
		fmt.Println(driver.Held(0), driver.Held(1), driver.Held(1), driver.Held(2), driver.Held(-1))
	case "opens":
		io.ReadAll(os.Stdin) // until the driver has begun
		d, err := gpu.OpenWith("auto", &gpu.Options{Hang: 300 * time.Millisecond})
		var hang *gpu.HangError
		if errors.As(err, &hang) {
			fmt.Println("hangs in", hang.Call)
			os.Exit(0) // the driver has the thread that would end it
		}
		fmt.Println(d.Name(), err, d.Close())
	}
}

// Only a command line that opens all cards there are has the driver begin.
func TestWhatBegins(t *testing.T) {
	for line, want := range map[string]bool{
		"pelmill compress a b --codec vq":                      true,
		"/usr/bin/pelmill compress a b":                        true,
		"pelmill compress --device auto a b":                   true,
		"pelmill compress a b --device=cuda":                   true,
		"pelmill compress --device cpu --device cuda a b":      true,
		"pelmill compress a b -- --device cpu":                 true,
		"pelmill compress --device":                            true,
		"pelmill compress":                                     true,
		"pelmill compress --device cuda --device cpu a b":      false,
		"pelmill compress --device cuda:1 a b":                 false,
		"pelmill compress a b --device=cpu":                    false,
		"pelmill compress a b --device=":                       false,
		"pelmill compress a b --dry-run":                       false,
		"pelmill compress a b --config pelmill.yaml":           false,
		"pelmill compress a b --config=pelmill.yaml":           false,
		"pelmill compress a b --redis redis://queue:6379":      false,
		"pelmill compress a b --server https://scheduler:8080": false,
		"pelmill compress --help":                              false,
		"pelmill compress -h":                                  false,
		"pelmill --quiet compress a b":                         false,
		"pelmill decompress a b":                               false,
		"pelmill worker":                                       false,
		"pelmill":                                              false,
		"":                                                     false,
	} {
		if got := opensCards(strings.Split(line, " ")...); got != want {
			t.Errorf("%q: %v, want %v", line, got, want)
		}
	}
}

// run executes this program with a fake driver in a role, whose input ends once the driver has been called so many times, and returns what
// it prints.
func run(t *testing.T, change func(*gputest.Fake), calls int64, role string, env []string, words ...string) (fake *gputest.Fake, out string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("PELMILL_FAKE_DRIVER", "")
	fake, library, err := gputest.BuildFake(dir)
	if err == nil {
		err = os.Rename(library, filepath.Join(dir, driver.Library))
	}
	if err != nil {
		t.Fatal(err)
	}
	change(fake)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, words...)
	cmd.Env = append(os.Environ(), append(env, "LD_LIBRARY_PATH="+dir, roleVariable+"="+role)...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	input, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); atomic.LoadInt64(&fake.Calls) < calls && time.Since(start) < 10*time.Second; {
		time.Sleep(time.Millisecond)
	}
	input.Close()
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, &text)
	}
	return fake, text.String()
}

// The contexts of all cards are there before main asks for them, and each is given away once.
func TestContextsAreHeld(t *testing.T) {
	fake, out := run(t, func(f *gputest.Fake) { f.Cards = 2 }, 0, "holds", nil, "compress", "a", "b")
	if want := "begun true\ntrue true false false false\n"; out != want || fake.Contexts != 2 {
		t.Errorf("%q and %d contexts, want %q and 2", out, fake.Contexts, want)
	}
	for _, c := range []struct {
		env   []string
		words []string
	}{
		{nil, []string{"decompress", "a", "b"}},
		{[]string{"PELMILL_DEVICE=cpu"}, []string{"compress", "a", "b"}},
		{[]string{"PELMILL_CONFIG=pelmill.yaml"}, []string{"compress", "a", "b"}},
		{[]string{"PELMILL_REDIS=redis://queue:6379"}, []string{"compress", "a", "b"}},
		{nil, []string{"compress", strings.Repeat("a", 1<<14), "b"}}, // longer than what is looked at
	} {
		fake, out := run(t, func(*gputest.Fake) {}, 0, "holds", c.env, c.words...)
		if want := "begun false\nfalse false false false false\n"; out != want || fake.Contexts != 0 || fake.Calls != 0 {
			t.Errorf("%q %.20q: %q, %d contexts and %d calls, want %q and none", c.env, c.words, out, fake.Contexts, fake.Calls, want)
		}
	}
}

// A device takes over the contexts that there are, and leaves nothing behind.
func TestADeviceTakesOver(t *testing.T) {
	fake, out := run(t, func(f *gputest.Fake) { f.Cards = 2 }, 0, "opens", nil, "compress", "a", "b")
	if want := "begun true\n2 x Fake 0 <nil> <nil>\n"; out != want || fake.Left() != "" {
		t.Errorf("%q and left %q, want %q and nothing", out, fake.Left(), want)
	}
}

// A driver that fails or hangs in what begins does so for whoever opens the cards, with its own error.
func TestWhatGoesWrongIsFoundOut(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*gputest.Fake)
		calls  int64 // of what begins
		want   string
	}{
		"does not start":         {func(f *gputest.Fake) { f.Init = 999 }, 0, "cpu <nil> <nil>"},
		"no card":                {func(f *gputest.Fake) { f.Cards = 0 }, 1, "cpu <nil> <nil>"},
		"hangs in cuInit":        {func(f *gputest.Fake) { f.Hang = 1 }, 0, "hangs in cuInit"},
		"hangs in the context":   {func(f *gputest.Fake) { f.HangAt, f.Hang = 3, 1 }, 3, "hangs in cuDevicePrimaryCtxRetain"},
		"refuses a context once": {func(f *gputest.Fake) { f.FailAt, f.Code = 3, 2 }, 3, "Fake 0 <nil> <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out := run(t, c.change, c.calls, "opens", nil, "compress", "a", "b")
			if want := "begun true\n" + c.want + "\n"; out != want {
				t.Errorf("%q, want %q", out, want)
			}
		})
	}
}
