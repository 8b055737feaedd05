//go:build cuda && cgo

package gpu_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/vq"
	"github.com/pelmill/pelmill/gpu"
	"github.com/pelmill/pelmill/gpu/gputest"
	"github.com/pelmill/pelmill/raster"
)

// several opens all cards of a machine with more than one.
func several(t *testing.T) *gpu.Device {
	t.Helper()
	d := gputest.Device(t, &gpu.Options{Lanes: 2})
	if n := len(d.Cards()); n < 2 {
		t.Skipf("NOT TESTED ON SEVERAL CARDS: this machine has %d", n)
	}
	return d
}

// Batches that all wait for each other need every lane of every card.
func TestBatchesGoToWhicheverLaneIsFree(t *testing.T) {
	d := several(t)
	n := 2 * len(d.Cards())
	cards, all, ends := make(chan int, n), make(chan struct{}), make(chan error, n)
	for range n {
		go func() {
			ends <- d.Do(context.Background(), func(l *gpu.Lane) error {
				cards <- l.Card().Index
				<-all
				b, err := l.Device(1 << 20)
				if err != nil {
					return err
				}
				got := make([]byte, b.Size)
				s := l.Stream(0)
				if err := errors.Join(s.Fill(b, 0, b.Size, byte(1+l.Card().Index)), s.Download(got, b, 0), s.Sync()); err != nil {
					return err
				}
				if got[len(got)-1] != byte(1+l.Card().Index) {
					return errors.New("memory of another card came back")
				}
				return nil
			})
		}()
	}
	count := map[int]int{}
	for range n {
		count[<-cards]++
	}
	close(all)
	for range n {
		if err := <-ends; err != nil {
			t.Error(err)
		}
	}
	for i := range d.Cards() {
		if count[i] != 2 {
			t.Errorf("card %d had %d of %d batches at once, want its 2 lanes", i, count[i], n)
		}
	}
}

// Every card alone, and all together, make the files of the CPU.
func TestAllCardsMakeTheSameFiles(t *testing.T) {
	all := several(t)
	r := rand.New(rand.NewPCG(1, 2))
	var batch []*raster.Image
	for i := range 24 {
		m := raster.New(96+i%3*32, 64, 1, 1+2*(i%2), 8)
		for j := range m.Pix {
			m.Pix[j] = byte(j/7 + i*11 + r.IntN(24))
		}
		batch = append(batch, m)
	}
	want := vq.Codec{}.Encode(t.Context(), codec.Run{}, codec.Items(batch...), nil)
	same := func(name string, d *gpu.Device) {
		t.Helper()
		for i, e := range (vq.Codec{}).Encode(t.Context(), codec.Run{Device: d}, codec.Items(batch...), nil) {
			if e.Err != nil || !bytes.Equal(e.Data, want[i].Data) {
				t.Errorf("%s: picture %d: other bytes than on the CPU (%v)", name, i, e.Err)
			}
		}
	}
	same("all cards", all)
	for i := range all.Cards() {
		name := fmt.Sprintf("cuda:%d", i)
		d, err := gpu.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		if c := d.Cards(); len(c) != 1 || c[0].Index != i || c[0].UUID != all.Cards()[i].UUID {
			t.Errorf("%s is %v", name, c)
		}
		same(name, d)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestHiddenCardsAreNotThere runs this binary with all cards hidden but the last.
func TestHiddenCardsAreNotThere(t *testing.T) {
	cards := gputest.Device(t, nil).Cards()
	last := cards[len(cards)-1]
	if want := os.Getenv("PELMILL_TEST_CARD"); want != "" {
		if len(cards) != 1 || cards[0].Index != 0 || cards[0].UUID != want {
			t.Errorf("the cards are %v, want card 0 with %s", cards, want)
		}
		return
	}
	run := func(visible, uuid string) ([]byte, error) {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestHiddenCardsAreNotThere$")
		cmd.Env = append(os.Environ(), "CUDA_VISIBLE_DEVICES="+visible, "PELMILL_TEST_CARD="+uuid, "PELMILL_GPU=require")
		return cmd.CombinedOutput()
	}
	if out, err := run(last.UUID, last.UUID); err != nil {
		t.Errorf("with only %s: %v\n%s", last.UUID, err, out)
	}
	if out, err := run("-1", "none"); err == nil || !bytes.Contains(out, []byte("no usable device")) {
		t.Errorf("with all cards hidden: %v\n%s", err, out)
	}
}
