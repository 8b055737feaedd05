package entropy

import (
	"slices"

	"github.com/pelmill/pelmill/codecs/jpegxl/internal/bits"
)

// Code is the distributions of a number of contexts.
type Code struct {
	clusters []uint8 // of each context, and of LZ77's distances behind them
	configs  []config
	logAlpha uint
	slots    []packedSlot   // 2^logAlpha of each cluster; nil with prefix codes
	prefix   []*prefixTable // of each cluster; nil with rANS
	lz77     *lz77

	// Of a code that was made by NewCode:
	freqs   [][]uint16 // of each cluster
	headers []distribution
	symbols []encoderSymbol // stride for each cluster
	stride  int
	places  []uint16 // 4096 for each cluster
	bases   []uint32 // of the symbols of each context
	cost    int64    // of all tokens without their raw bits, in 1/65536 bit
}

// ReadCode reads the distributions of contexts.
func ReadCode(r *bits.Reader, contexts int) (*Code, error) { return readCode(r, contexts, true) }

func readCode(r *bits.Reader, contexts int, repetitions bool) (*Code, error) {
	c := &Code{}
	if r.Bool() {
		if !repetitions {
			return nil, malformed("LZ77 in a map of two contexts")
		}
		c.lz77 = &lz77{minSymbol: r.U32(&minSymbols), minLength: r.U32(&minLengths)}
		var err error
		if c.lz77.length, err = readConfig(r, 8); err != nil {
			return nil, err
		}
		contexts++
	}
	c.clusters = make([]uint8, contexts)
	count := 1
	if contexts > 1 {
		var err error
		if count, err = readMap(r, c.clusters); err != nil {
			return nil, err
		}
	}
	prefix := r.Bool()
	c.logAlpha = maxPrefix
	if !prefix {
		c.logAlpha = uint(r.Read(2)) + 5
	}
	c.configs = make([]config, count)
	for i := range c.configs {
		var err error
		if c.configs[i], err = readConfig(r, int(c.logAlpha)); err != nil {
			return nil, err
		}
	}
	if err := r.Err(); err != nil {
		return nil, err
	}
	if prefix {
		return c, c.readPrefixes(r, count)
	}
	for range count {
		freqs, err := readFreqs(r)
		if err != nil {
			return nil, err
		}
		for len(freqs) > 0 && freqs[len(freqs)-1] == 0 {
			freqs = freqs[:len(freqs)-1]
		}
		table, err := aliasTable(freqs, c.logAlpha)
		if err != nil {
			return nil, err
		}
		if err := r.Err(); err != nil {
			return nil, err
		}
		for _, s := range table {
			c.slots = append(c.slots, s.pack())
		}
	}
	return c, nil
}

func (c *Code) readPrefixes(r *bits.Reader, count int) error {
	sizes := make([]int, count)
	for i := range sizes {
		if sizes[i] = r.VarLen16() + 1; sizes[i] > 1<<maxPrefix {
			return malformed("an alphabet of %d symbols", sizes[i])
		}
	}
	c.prefix = make([]*prefixTable, count)
	for i := range c.prefix {
		var err error
		if c.prefix[i], err = readPrefix(r, sizes[i]); err != nil {
			return err
		}
		if err := r.Err(); err != nil {
			return err
		}
	}
	return nil
}

func readConfig(r *bits.Reader, logAlpha int) (config, error) {
	var c config
	c.split = uint8(r.Read(bitsOf(logAlpha)))
	if int(c.split) == logAlpha {
		return c, nil
	}
	c.msb = uint8(r.Read(bitsOf(int(c.split))))
	if c.msb > c.split {
		return c, errCode
	}
	c.lsb = uint8(r.Read(bitsOf(int(c.split - c.msb))))
	if c.msb+c.lsb > c.split {
		return c, errCode
	}
	return c, nil
}

// readMap reads the cluster of each context (C.2.2) and returns how many there are.
func readMap(r *bits.Reader, clusters []uint8) (int, error) {
	if r.Bool() {
		if n := uint(r.Read(2)); n > 0 {
			for i := range clusters {
				clusters[i] = uint8(r.Read(n))
			}
		}
	} else {
		front := r.Bool()
		code, err := readCode(r, 1, len(clusters) > 2)
		if err != nil {
			return 0, err
		}
		d := code.Decoder(r, 0)
		for i := range clusters {
			v := d.Read(0)
			if v >= maxClusters {
				return 0, malformed("cluster %d", v)
			}
			clusters[i] = uint8(v)
		}
		if err := d.End(); err != nil {
			return 0, err
		}
		if front {
			fromFront(clusters)
		}
	}
	var used [maxClusters]bool
	count := 0
	for _, c := range clusters {
		if !used[c] {
			used[c] = true
			count++
		}
	}
	if slices.Contains(used[:count], false) {
		return 0, malformed("a cluster has no context")
	}
	return count, nil
}

// fromFront undoes the move to front of a map.
func fromFront(clusters []uint8) {
	var list [256]uint8
	for i := range list {
		list[i] = uint8(i)
	}
	for i, at := range clusters {
		v := list[at]
		clusters[i] = v
		copy(list[1:int(at)+1], list[:at])
		list[0] = v
	}
}

// Map reads a map of contexts that stands alone, as that of blocks does.
func Map(r *bits.Reader, contexts int) (clusters []uint8, count int, err error) {
	clusters = make([]uint8, contexts)
	count, err = readMap(r, clusters)
	return clusters, count, err
}

// Decoder reads the integers of one stream.
type Decoder struct {
	r     *bits.Reader
	code  *Code
	state uint32
	shift uint // of a position in an alias table
	log   uint // of the entries of one
	lz    *window
}

// Decoder begins a stream. The multiplier is the width of the image whose samples are
// coded, 0 where there is none (C.3.3).
func (c *Code) Decoder(r *bits.Reader, multiplier int) *Decoder {
	d := &Decoder{r: r, code: c}
	if c.slots != nil {
		d.state = r.Read(32)
		d.shift, d.log = logTotal-c.logAlpha, c.logAlpha
	}
	if c.lz77 != nil {
		d.lz = newWindow(multiplier)
	}
	return d
}

// Read returns the next integer, one of the context.
func (d *Decoder) Read(context int) uint32 { return d.ReadCluster(int(d.code.clusters[context])) }

// Constant says whether all integers of a cluster are one that takes no bits, and which.
func (d *Decoder) Constant(cluster int) (v uint32, ok bool) {
	if d.code.slots == nil || d.lz != nil {
		return 0, false
	}
	t := d.code.slots[cluster<<d.log].unpack()
	return uint32(t.right), t.freq2 == total && t.cut == 0 && uint32(t.right) < 1<<d.code.configs[cluster].split
}

// Clusters maps contexts for [Decoder.ReadCluster]. It is not to be changed.
func (c *Code) Clusters() []uint8 { return c.clusters }

// ReadCluster returns the next integer, one of a context of the cluster.
func (d *Decoder) ReadCluster(cluster int) uint32 {
	if d.lz != nil {
		return d.readRepeated(cluster)
	}
	symbol := d.symbol(cluster)
	c := &d.code.configs[cluster]
	if symbol < 1<<(c.split&31) {
		return symbol
	}
	return c.value(d.r, symbol)
}

// symbol reads a token. It has no branches for rANS: what they would depend on is as good
// as random.
func (d *Decoder) symbol(cluster int) uint32 {
	r := d.r
	r.Fill()
	if d.code.slots == nil {
		return d.code.prefix[cluster].read(r)
	}
	index := d.state & (total - 1) >> (d.shift & 31)
	at := d.state & (1<<(d.shift&31) - 1)
	s := d.code.slots[cluster<<(d.log&31)|int(index)]
	other := uint32(int32(uint32(s&0xff)-1-at) >> 31) // all ones where the slot is that of the other symbol
	symbol := index ^ (index^uint32(s>>8&0xff))&other
	freq := uint32(s>>16&0xffff) ^ uint32(s>>32&0xffff)&other
	offset := at + uint32(s>>48)&other
	state := freq*(d.state>>logTotal) + offset&(total-1)
	low := uint(int64(uint64(state)-1<<16)>>63) & 16 // bits that the state takes in
	d.state = state<<low | r.Peek(low)
	r.Skip(low)
	return symbol
}

// value reads the raw bits of a token.
func (c *config) value(r *bits.Reader, token uint32) uint32 {
	if token < 1<<c.split {
		return token
	}
	msb, lsb := uint(c.msb), uint(c.lsb)
	n := (uint(c.split) - msb - lsb + uint(token-1<<c.split)>>(msb+lsb)) & 31
	low := token & (1<<lsb - 1)
	high := token >> lsb & (1<<msb - 1)
	return ((1<<msb|high)<<n|r.Read(n))<<lsb | low
}

// End says whether the stream ended as it must (C.3.2).
func (d *Decoder) End() error {
	if err := d.r.Err(); err != nil {
		return err
	}
	if d.code.slots != nil && d.state != initial {
		return malformed("a stream does not end in the state that it began with")
	}
	return nil
}
