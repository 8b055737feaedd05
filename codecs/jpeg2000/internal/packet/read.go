package packet

import (
	"image"
	"slices"

	"github.com/pelmill/pelmill/codecs/codec"
	"github.com/pelmill/pelmill/codecs/jpeg2000/internal/codestream"
)

// Input are the coded bytes of a tile.
type Input struct {
	Bodies  [][]byte // of its tile-parts, in their order; they hold whole packets
	Packed  bool     // packet headers are not in the bodies but in Headers (PPM, PPT)
	Headers []byte
	Lengths []int // of the packets, in their order; nil: not known
	Memory  *Memory

	// Needless says whether nothing is wanted of a packet whose length is known, so that it is
	// passed over; nil: of none.
	Needless func(ID) bool
}

// Markers inside of tile-parts.
const (
	markerSOP = 0x91
	markerEPH = 0x92
	sopLength = 6
)

// Read reads the packets of a tile up to the last of a resolution that is wanted. step are
// the sub-sampling factors of the components. It is an error if wanted packets are missing,
// unless the tile ends behind a packet and has one of each precinct: codestreams that were
// cut down to fewer layers are the image at a lower quality.
func Read(tile *codestream.Tile, p *codestream.Params, step []image.Point, in Input, wanted func(component, resolution int) bool) (Precincts, error) {
	in.Bodies = slices.Clone(in.Bodies) // the reader moves on in them
	r := &reader{tile: tile, params: p, in: in, precincts: make(Precincts, len(tile.Components)), wanted: wanted}
	for c := range tile.Components {
		t := &tile.Components[c]
		r.precincts[c] = make([][]*Precinct, len(t.Resolutions))
		for i := range t.Resolutions {
			if wanted(c, i) {
				r.missing += count(t.Resolutions[i].Precincts) * p.Layers
				r.unseen += count(t.Resolutions[i].Precincts)
			}
		}
	}
	if r.missing == 0 {
		return r.precincts, nil
	}
	var err error
	Order(tile, p, step, func(id ID) bool {
		if r.skipEmpty(); len(r.in.Bodies) == 0 && r.unseen == 0 {
			r.missing = 0
			return false
		}
		err = r.packet(id)
		return err == nil && r.missing > 0
	})
	if err == nil && r.missing > 0 {
		err = codec.Malformedf("jpeg2000: tile %d is cut short: %d packets are missing", tile.Index, r.missing)
	}
	return r.precincts, err
}

// reader is the state of [Read].
type reader struct {
	tile      *codestream.Tile
	params    *codestream.Params
	in        Input
	precincts Precincts
	wanted    func(component, resolution int) bool
	missing   int // wanted packets that did not come yet
	unseen    int // precincts of wanted packets of which none came yet
	lengths   []length
}

// skipEmpty goes on to the tile-part that has the next packet. A packet whose header is
// elsewhere may have no bytes.
func (r *reader) skipEmpty() {
	for len(r.in.Bodies) > 0 && len(r.in.Bodies[0]) == 0 && (!r.in.Packed || len(r.in.Bodies) > 1 || len(r.in.Headers) == 0) {
		r.in.Bodies = r.in.Bodies[1:]
	}
}

// packet reads one packet.
func (r *reader) packet(id ID) (err error) {
	if len(r.in.Bodies) == 0 {
		return codec.Malformedf("jpeg2000: tile %d is cut short: it ends before the packet of layer %d, resolution %d, component %d, precinct %d",
			r.tile.Index, id.Layer, id.Resolution, id.Component, id.Precinct)
	}
	body := &r.in.Bodies[0]
	if r.in.Lengths != nil {
		if len(r.in.Lengths) == 0 {
			return errLengths
		}
		n, before := r.in.Lengths[0], len(*body)
		if r.in.Lengths = r.in.Lengths[1:]; n > before {
			return errLengths
		}
		if r.in.Needless(id) {
			*body = (*body)[n:]
			r.came(id)
			return nil
		}
		defer func() {
			if err == nil && before-len(*body) != n {
				err = errLengths
			}
		}()
	}
	if b := *body; len(b) >= sopLength && b[0] == 0xff && b[1] == markerSOP && r.params.SOP {
		*body = b[sopLength:]
	}
	header := body
	if r.in.Packed {
		header = &r.in.Headers
	}
	if err := r.header(id, header); err != nil {
		return err
	}
	r.came(id)
	for _, l := range r.lengths {
		if l.bytes > len(*body) {
			return codec.Malformedf("jpeg2000: tile %d: a packet has %d bytes of a code-block and the tile-part ends after %d", r.tile.Index, l.bytes, len(*body))
		}
		l.block.parts = append(l.block.parts, part{(*body)[:l.bytes:l.bytes], l.passes, l.starts})
		*body = (*body)[l.bytes:]
	}
	return nil
}

// errLengths says that packets are not as long as the lengths say.
var errLengths = codec.Malformedf("jpeg2000: the lengths of packets in PLT are not those of the packets")

// came counts a packet.
func (r *reader) came(id ID) {
	if !r.wanted(id.Component, id.Resolution) {
		return
	}
	r.missing--
	if id.Layer == 0 {
		r.unseen--
	}
}

// header reads a packet's header from the bytes at *data, which move on.
func (r *reader) header(id ID, data *[]byte) error {
	r.lengths = r.lengths[:0]
	bits := bitReader{data: *data}
	if bits.bit() == 1 {
		t := &r.tile.Components[id.Component]
		res := &t.Resolutions[id.Resolution]
		list := &r.precincts[id.Component][id.Resolution]
		if *list == nil {
			*list = r.in.Memory.takePointers(count(res.Precincts))
		}
		state := &(*list)[id.Precinct]
		if *state == nil {
			*state = r.in.Memory.readable(r.in.Memory.newPrecinct(res, id.Precinct))
		}
		var err error
		if r.lengths, err = (*state).readHeader(&bits, id.Layer, t.Coding.Style, r.lengths); err != nil {
			return err
		}
	}
	end := bits.end()
	if bits.short {
		return codec.Malformedf("jpeg2000: tile %d: a packet header is cut short", r.tile.Index)
	}
	*data = (*data)[end:]
	if d := *data; r.params.EPH && len(d) >= 2 && d[0] == 0xff && d[1] == markerEPH {
		*data = d[2:]
	} else if r.params.EPH {
		return codec.Malformedf("jpeg2000: tile %d: a packet header without the marker EPH that the tile promises", r.tile.Index)
	}
	return nil
}
