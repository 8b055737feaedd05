package sha256batch

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/gpu/gputest"
)

func random(n int, seed uint64) []byte {
	var key [32]byte
	binary.LittleEndian.PutUint64(key[:], seed)
	data := make([]byte, n)
	rand.NewChaCha8(key).Read(data)
	return data
}

// lengths are of all kinds: none, less and more than a block, whole blocks, and many of them.
var lengths = []int{0, 1, 63, 64, 65, 127, 128, 129, 191, 192, 1000, 4096, 10_007}

// heads are shorter and longer than a block, and as long.
var heads = []int{0, 1, 31, 32, 63, 64, 65, 100}

// mixed are messages of all heads and lengths that begin at all addresses.
func mixed() (list []Message) {
	for i, n := range lengths {
		for j, head := range heads {
			at := (i + j) % 9
			list = append(list, Message{Head: random(head, uint64(j)), Data: random(at+n, uint64(100*i+j))[at:]})
		}
	}
	return list
}

// onCPU compiles the kernel for this machine, and returns a function that ends the messages.
func onCPU(t *testing.T) func(messages []message) {
	t.Helper()
	program := gputest.CPUProgram(t, "../..", "testdata/cpu.cc", "internal/sha256batch/kernels.cu", "internal/sha256batch/shared.cuh", "gpu/include/base.cuh", "gpu/include/warp.cuh")
	return func(messages []message) {
		var in bytes.Buffer
		put := func(v any) { binary.Write(&in, binary.LittleEndian, v) }
		put(uint32(len(messages)))
		for i, m := range messages {
			put([]uint32{uint32(i % 4), uint32(m.bytes / sha256.BlockSize)})
			put(m.state.Words)
			in.Write(m.data[m.first:][:m.bytes])
		}
		states := make([][stateWords]uint32, copies*len(messages))
		if err := binary.Read(bytes.NewReader(gputest.RunCPU(t, program, in.Bytes())), binary.LittleEndian, states); err != nil {
			t.Fatal(err)
		}
		for i := range messages {
			messages[i].end(states[i], states[len(messages)+i])
		}
	}
}

// The kernel, compiled for this machine, makes the digests of crypto/sha256, inside its memory.
func TestKernelOnCPU(t *testing.T) {
	run := onCPU(t)
	list := mixed()
	messages := make([]message, len(list))
	for i := range list {
		messages[i].begin(list[i])
	}
	run(messages)
	for i, m := range messages {
		head, data := list[i].Head, list[i].Data
		want := sha256.Sum256(slices.Concat(head, data))
		if m.done != (m.bytes > 0) || m.done && m.sum != want {
			t.Errorf("%d+%d bytes: done %v, %x, want %x", len(head), len(data), m.done, m.sum, want)
		}
		if got := list[i].Sum(); got != want {
			t.Errorf("%d+%d bytes by the host: %x, want %x", len(head), len(data), got, want)
		}
		if Takes(list[i]) && m.bytes == 0 {
			t.Errorf("%d+%d bytes: a message without a block is given to the device", len(head), len(data))
		}
	}
}

// A digest counts only where the device has made it twice, and one of each batch only where the host has made it, too.
func TestWrongDigests(t *testing.T) {
	of := Message{Data: random(1000, 1)}
	var m message
	m.begin(of)
	one := m.state.Words
	other := one
	other[7]++
	if m.end(one, other); m.done {
		t.Error("two states that differ make a digest")
	}
	if err := m.prove(of.Sum()); err == nil {
		t.Error("a digest that is not done is proved")
	}
	if m.end(one, one); !m.done {
		t.Error("two equal states make no digest")
	}
	if err := m.prove(of.Sum()); err == nil {
		t.Error("a wrong digest is proved")
	}
}

// Without a device, everything is left to the caller.
func TestNoDevice(t *testing.T) {
	sums, done, err := Sums(t.Context(), codec.Run{}, mixed())
	if err != nil || len(sums) != len(mixed()) || slices.Contains(done, true) {
		t.Errorf("%d digests, done %v, %v", len(sums), done, err)
	}
}

// What lies in another message is uploaded with that.
func TestStretches(t *testing.T) {
	memory := random(1000, 1)
	apart := random(10, 2)
	messages := []message{{data: memory[100:200]}, {data: memory[:500]}, {data: apart}, {data: memory[400:600]}, {data: memory[:500]}, {data: memory[600:]}, {data: memory[0:1]}}
	stretches, within := stretchesOf(messages)
	sizes := make([]int, len(stretches))
	for i, s := range stretches {
		sizes[i] = len(s)
	}
	slices.Sort(sizes)
	if !slices.Equal(sizes, []int{10, 200, 400, 500}) {
		t.Errorf("stretches of %v bytes", sizes)
	}
	for i, m := range messages {
		p := within[i]
		if got := stretches[p.stretch][p.at:]; &got[0] != &m.data[0] || len(got) < len(m.data) {
			t.Errorf("message %d is not at %d of stretch %d", i, p.at, p.stretch)
		}
	}
}
