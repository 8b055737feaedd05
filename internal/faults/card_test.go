package faults_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/codecs"
	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/internal/seed"
	"github.com/pelmill/pelmill/jobs"
	"github.com/pelmill/pelmill/jobs/class"
)

// card is a machine with one: the folder that cardVariable names has a pelmill that was built for cards, and flipcard.so, which is
// testdata/flipcard.c. Neither Go nor a C compiler nor Redis is needed there.
type card struct {
	pelmill, library string
	selfTest         int64 // copies from the card before the second object
}

const (
	cardVariable  = "PELMILL_FLIP_CARD"
	flipsVariable = "PELMILL_FLIPS" // how many bits to flip; 10,000
)

// counters are those that the library keeps.
type counters struct{ Copies, Flips, Lost int64 }

func aCard(t *testing.T) *card {
	t.Helper()
	dir := os.Getenv(cardVariable)
	if dir == "" {
		t.Skipf("NOT TESTED ON A CARD: %s names no folder with pelmill and flipcard.so", cardVariable)
	}
	c := &card{pelmill: filepath.Join(dir, "pelmill"), library: filepath.Join(dir, "flipcard.so")}
	tr := inFolders(t, faults.Images(1, 1, 32)) // without an image no card is asked
	tr.codec = "webp"
	if _, n, text := c.compress(t, tr); n.Copies == 0 {
		t.Fatalf("nothing was copied from a card: %s", text)
	} else {
		c.selfTest = n.Copies
	}
	return c
}

// cards is how many cards pelmill finds sound.
func (c *card) cards(t *testing.T) (n int) {
	t.Helper()
	p := faults.Start(t, "doctor", nil, c.pelmill, "doctor")
	p.Wait(t, limit) // what else it finds is no matter here
	for strings.Contains(p.Stdout(), fmt.Sprintf("device cuda:%d", n)) {
		n++
	}
	return n
}

// moment is a number of copies from the card in the middle of a job: it does the same job first, into another target.
func (c *card) moment(t *testing.T, rng *rand.Rand, w work, tr *trial) int64 {
	t.Helper()
	same := w.of(inFolders(t, tr.sources))
	same.extra = tr.extra
	exit, found, text := c.compress(t, same)
	if exit != 0 {
		t.Fatalf("exit code %d: %s", exit, text)
	}
	return found.Copies/4 + rng.Int64N(max(1, found.Copies/2))
}

// compress runs pelmill on the card, with settings of the library, and gives what that counted.
func (c *card) compress(t *testing.T, tr *trial, settings ...string) (code int, n counters, text string) {
	t.Helper()
	state := filepath.Join(t.TempDir(), "counters")
	env := append(slices.Clone(tr.env), "LD_PRELOAD="+c.library, "FLIP_STATE="+state)
	p := faults.Start(t, "compress", append(env, settings...), c.pelmill, append(tr.flags("compress"), "--device", "cuda", "--fail-ratio", "1")...)
	code = p.Wait(t, limit)
	data, err := os.ReadFile(state)
	if err == nil {
		err = binary.Read(bytes.NewReader(data), binary.NativeEndian, &n)
	}
	if err != nil {
		t.Fatalf("counters of %s: %v: %s", c.library, err, p.Stderr())
	}
	return code, n, p.Stdout() + p.Stderr()
}

// onCards are the works of which a card does a part.
func onCards(t *testing.T) []work {
	return slices.DeleteFunc(slices.Clone(chosenWorks(t)), func(w work) bool { return w.codec == codecs.Auto || w.codec == "jpegxl" })
}

// TestCardThatFlipsBits has one bit inverted in what kernels have left in the memory of a real card, in every other copy to the host.
// Whatever is recorded as compressed decodes to its source, or of a lossy codec to an image like it; how often that has other bytes
// than on the CPU is counted. A process that such a bit ends is followed by one that goes on, as a supervisor does.
func TestCardThatFlipsBits(t *testing.T) {
	c := aCard(t)
	want := int64(10_000)
	if s := os.Getenv(flipsVariable); s != "" {
		var err error
		if want, err = strconv.ParseInt(s, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	rng := seed.Rand(t)
	l := newLedger()
	l.name = "card"
	list := onCards(t)
	for round := 0; l.of(countFaults) < want; round++ {
		if before := l.of(countFaults); round > 0 && round%len(list) == 0 && before == 0 {
			t.Fatal("no bit was flipped in a whole round")
		}
		w := list[round%len(list)]
		verify := []string{"full", "device"}[round/len(list)%2]
		ok := t.Run(fmt.Sprintf("%s %d", w.name, round), func(t *testing.T) { c.flipped(t, w, rng.Uint64(), verify, l) })
		if !ok && round > 2*len(list) {
			break
		}
	}
	fmt.Printf("card: %d bits flipped: %v\n", l.of(countFaults), l.counts)
}

// mostCompared is how many files of a job are compared with those of the CPU.
const mostCompared = 200

// flipped does a job with flipped bits, and ends it without.
func (c *card) flipped(t *testing.T, w work, images uint64, verify string, l *ledger) {
	side, n := 32, 3000
	if strings.Contains(w.name, "volumes") || strings.Contains(w.name, "slices") {
		n = 300
	}
	all := w.sources(images, n, side)
	for i := range all {
		all[i].Want = []jobs.Outcome{jobs.OutcomeCompressed, jobs.OutcomeKept, jobs.OutcomeFailed}
	}
	tr := w.of(inFolders(t, all))
	tr.extra = []string{"--chunk-objects", "500", "--verify", verify, "--min-psnr", strconv.Itoa(faults.MinPSNR)}
	start := time.Now()
	code, found, text := c.compress(t, tr, "FLIP_EVERY=2", fmt.Sprint("FLIP_SEED=", images), fmt.Sprint("FLIP_AFTER=", c.selfTest))
	l.add(countFaults, found.Flips)
	l.add(countImages, int64(n))
	tr.whole()
	if code != 0 && code != 3 {
		l.add("processes ended", 1)
		l.say("%s: exit code %d: %s", w.name, code, text[max(0, len(text)-600):])
	}
	if code, _, text := c.compress(t, tr); code != 0 && code != 3 && code != 4 {
		t.Errorf("a run without flipped bits ends with code %d: %s", code, text)
	}
	if t.Failed() {
		return
	}
	ids := tr.jobs()
	checked := tr.check(ids[len(ids)-1], ids[:len(ids)-1]...)
	by, err := codecs.Resolve(nil, w.codec, 0, codec.JoinPairs(w.options))
	if err != nil {
		t.Fatal(err)
	}
	exact, caught, compared := by.Codec.Info().KeepsImages(by.Options), 0, 0
	for _, s := range all {
		r, ok := checked.Record(s.Key)
		if !ok || r.Outcome == jobs.OutcomeKept {
			continue
		}
		caught += r.Attempts - 1
		switch {
		case r.Outcome == jobs.OutcomeFailed && r.Class == class.Verify:
			caught++
		case r.Outcome == jobs.OutcomeFailed:
			l.add("failed with class "+r.Class, 1)
		case !faults.IsDICOM(s.Data) && compared < mostCompared:
			compared++
			data, err := tr.to.ReadAll(t.Context(), r.Target)
			if err != nil {
				t.Fatal(err)
			}
			if one := by.Codec.Encode(t.Context(), codec.Run{}, codec.Items(s.Image), by.Options)[0]; !bytes.Equal(data, one.Data) && exact {
				l.add("right image in other bytes", 1)
			} else if !bytes.Equal(data, one.Data) {
				l.add("of lossy codecs: like the source in other bytes", 1)
			}
		}
	}
	l.add("caught", int64(caught))
	l.say("%s, verified by %s: %d bits flipped in %d copies of %d images in %v, %d attempts caught, exit code %d", w.name, verify, found.Flips,
		found.Copies-c.selfTest, n, time.Since(start).Round(100*time.Millisecond), caught, code)
}

// TestCardIsLostInTheMiddle has a real card answer with a fatal code from some copy on, for the rest of the process. The process
// ends and says so, what it has recorded is right, and another one ends the job.
func TestCardIsLostInTheMiddle(t *testing.T) {
	c := aCard(t)
	rng := seed.Rand(t)
	for _, code := range []int{46, 214, 700, 719, 999} {
		for _, w := range onCards(t) {
			t.Run(fmt.Sprintf("%s %d", w.name, code), func(t *testing.T) {
				tr := w.of(inFolders(t, w.sources(rng.Uint64(), 300, 32)))
				tr.extra = []string{"--chunk-objects", "50"}
				at := c.moment(t, rng, w, tr)
				exit, found, text := c.compress(t, tr, fmt.Sprint("FLIP_CODE=", code), fmt.Sprint("FLIP_LOST=", at))
				if found.Lost == 0 {
					t.Skipf("the job was done in %d copies, before the card was lost", found.Copies)
				}
				if exit == 0 || !strings.Contains(text, "lost") && !strings.Contains(text, fmt.Sprintf("(%d)", code)) {
					t.Errorf("exit code %d with a card that was lost: %s", exit, text)
				}
				tr.whole()
				if exit, _, text := c.compress(t, tr); exit != 0 {
					t.Errorf("the next process: exit code %d: %s", exit, text)
				}
				ids := tr.jobs()
				tr.check(ids[len(ids)-1], ids[:len(ids)-1]...)
			})
		}
	}
}

// TestEachCardOfSeveralIsLost has one card of a machine answer with a fatal code in the middle of a job that all of them do, and then
// has a process that sees only the others end the job.
func TestEachCardOfSeveralIsLost(t *testing.T) {
	c := aCard(t)
	n := c.cards(t)
	if n < 2 {
		t.Skipf("NOT TESTED ON SEVERAL CARDS: this machine has %d", n)
	}
	rng := seed.Rand(t)
	for lost := range n {
		var others []string
		for i := range n {
			if i != lost {
				others = append(others, strconv.Itoa(i))
			}
		}
		for _, w := range onCards(t) {
			t.Run(fmt.Sprintf("%s card %d", w.name, lost), func(t *testing.T) {
				tr := w.of(inFolders(t, w.sources(rng.Uint64(), 300, 32)))
				tr.extra = []string{"--chunk-objects", "20"}
				at := c.moment(t, rng, w, tr)
				exit, found, text := c.compress(t, tr, "FLIP_CODE=719", fmt.Sprint("FLIP_LOST=", at), fmt.Sprint("FLIP_CARD=", lost))
				if found.Lost == 0 {
					t.Skipf("the job was done in %d copies, before the card was lost", found.Copies)
				}
				if exit == 0 || !strings.Contains(text, "lost") && !strings.Contains(text, "(719)") {
					t.Errorf("exit code %d with a card that was lost: %s", exit, text)
				}
				tr.whole()
				if exit, _, text := c.compress(t, tr, "CUDA_VISIBLE_DEVICES="+strings.Join(others, ",")); exit != 0 {
					t.Errorf("the next process, without card %d: exit code %d: %s", lost, exit, text)
				}
				ids := tr.jobs()
				tr.check(ids[len(ids)-1], ids[:len(ids)-1]...)
			})
		}
	}
}

// TestWorkerOfEachCardIsKilled has a worker of its own for each card of a machine, and kills one after the other while a job goes on.
func TestWorkerOfEachCardIsKilled(t *testing.T) {
	const kills = 4 // of each
	c := aCard(t)
	n := c.cards(t)
	if n < 2 {
		t.Skipf("NOT TESTED ON SEVERAL CARDS: this machine has %d", n)
	}
	rng := seed.Rand(t)
	tr := inFolders(t, faults.Images(rng.Uint64(), 6_000, 96)).withRedis()
	tr.codec, tr.extra = "webp", []string{"--chunk-objects", "50", "--tpslimit", "250"}
	id := tr.submit()
	scheduler := tr.scheduler()
	start := func(card int) *faults.Process { return tr.worker("--device", fmt.Sprintf("cuda:%d", card)) }
	var workers []*faults.Process
	for i := range n {
		workers = append(workers, start(i))
	}
	for i := range kills * n {
		w := workers[i%n]
		faults.Until(t, limit, "the worker serves", func() bool { return strings.Contains(w.Stderr(), "worker serves") })
		time.Sleep(time.Duration(rng.Int64N(int64(2 * time.Second)))) // which moment the kill hits is the test
		if n := tr.count(jobs.Folder(id).Report()); n != 0 {
			t.Fatalf("the job ended before kill %d; it is too small", i+1)
		}
		w.Kill()
		workers[i%n] = start(i % n)
	}
	tr.ended(id)
	lost := 0
	for _, m := range expired.FindAllStringSubmatch(scheduler.Stderr(), -1) {
		n, _ := strconv.Atoi(m[1])
		lost += n
	}
	fmt.Printf("cards: %d kills, %d chunks taken back from killed workers, %d images\n", kills*n, lost, len(tr.sources))
	if lost < kills*n/2 {
		t.Errorf("%d chunks were taken back from killed workers; %d kills were meant to hit work", lost, kills*n)
	}
}
