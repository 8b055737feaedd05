//go:build cuda && cgo

package gpu

import "sync"

// link is a direction between the host and a card. A card has one engine for each, which takes the
// copies of several streams by turns, so that batches that are copied at the same time would all have
// arrived only when the last one has. Those of one batch are therefore put behind those of another.
type link struct {
	mu   sync.Mutex
	last cuEvent // behind the copies of
	lane *Lane   // nil: there were none yet
}

// The links of a card.
const (
	linkUp = iota
	linkDown
)

// inTurn lets what copies puts into the stream wait for what other lanes have put into theirs for the
// same link. copies does not wait itself: the kernels of the stream have ended before.
func (s *Stream) inTurn(direction int, copies func() error) error {
	if err := s.awaitKernels(); err != nil {
		return err
	}
	l, k := s.lane, &s.lane.card.links[direction]
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lane != nil && k.lane != l {
		if err := l.do("cuStreamWaitEvent", "", func() error { return waitEvent(s.stream, k.last) }); err != nil {
			return err
		}
	}
	if err := copies(); err != nil {
		return err
	}
	k.last, k.lane = l.moved[direction], l
	return l.do("cuEventRecord", "", func() error { return record(k.last, s.stream) })
}

// UploadParts copies parts, which ascend and lie in memory of [Device.Host], to b. It waits for the kernels of the stream only. They
// stay as they are until the stream has come to rest. Uploads of other lanes that began before come first.
func (s *Stream) UploadParts(b *Buffer, parts []Part) error {
	return s.inTurn(linkUp, func() error {
		return eachCopy(parts, func(p Part) error { return s.Upload(b, p.At, p.Bytes) })
	})
}

// DownloadParts fills parts, which ascend and lie in memory of [Device.Host], from b. It waits for the kernels of the stream only.
// They are valid when the stream has come to rest. Downloads of other lanes that began before come first.
func (s *Stream) DownloadParts(parts []Part, b *Buffer) error {
	return s.inTurn(linkDown, func() error {
		return eachCopy(parts, func(p Part) error { return s.Download(p.Bytes, b, p.At) })
	})
}
