package dimse

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/pelmill/pelmill/scheduler/intake/instances"
)

// session is one association.
type session struct {
	ctx   context.Context // of the server
	s     *Server
	conn  net.Conn
	r     *bufio.Reader
	buf   []byte // of PDUs
	rest  []byte // values of the last P-DATA-TF that were not looked at
	end   time.Time
	most  int                   // bytes of a value that the peer takes
	taken map[byte]presentation // contexts
	peer  Peer
	from  instances.Sender
	found func(key string)      // is told of new objects of the spool
	late  *sync.WaitGroup       // of what goes on after the association
	sent  uint16                // message ids of requests of this side
	wait  map[uint16]commitment // results that the peer has not confirmed

	admitted bool // it has one of the server's places
}

func newSession(ctx context.Context, s *Server, conn net.Conn, found func(string), late *sync.WaitGroup) *session {
	a := &session{ctx: ctx, s: s, conn: conn, r: bufio.NewReaderSize(conn, 16<<10), end: time.Now().Add(associationTime), found: found, late: late,
		taken: map[byte]presentation{}, wait: map[uint16]commitment{}, from: instances.Sender{Protocol: "c-store", Session: rand.Text()[:12]}}
	a.from.Peer, _, _ = net.SplitHostPort(conn.RemoteAddr().String())
	return a
}

// errEnd means that the peer has released or aborted the association.
var errEnd = errors.New("dimse: the association has ended")

// Sources and reasons of A-ASSOCIATE-RJ and A-ABORT (PS3.8, 9.3.4 and 9.3.8), with the result before them.
var (
	rejectVersion = []byte{0, 1, 2, 2}
	rejectApp     = []byte{0, 1, 1, 2}
	rejectCalling = []byte{0, 1, 1, 3}
	rejectCalled  = []byte{0, 1, 1, 7}
	rejectBusy    = []byte{0, 2, 3, 2}
	abortProvider = []byte{0, 0, 2, 0}
)

// run serves the association to its end.
func (a *session) run() error {
	defer a.undelivered()
	err := a.establish()
	for err == nil {
		err = a.message()
	}
	switch {
	case errors.Is(err, errEnd), errors.Is(err, io.EOF):
		return nil
	case a.ctx.Err() == nil:
		a.write(pduAbort, abortProvider)
	}
	return err
}

func (a *session) write(kind byte, body []byte) error {
	a.conn.SetWriteDeadline(time.Now().Add(writeTime))
	return writePDU(a.conn, kind, body)
}

// read reads a PDU within a time.
func (a *session) read(within time.Duration) (kind byte, body []byte, err error) {
	deadline := time.Now().Add(within)
	if deadline.After(a.end) {
		deadline = a.end
	}
	a.conn.SetReadDeadline(deadline)
	kind, a.buf, err = readPDU(a.r, a.buf)
	return kind, a.buf, err
}

// establish answers the request for an association.
func (a *session) establish() error {
	kind, body, err := a.read(requestTime)
	switch {
	case err != nil:
		return err
	case kind != pduAssociateRQ:
		return fmt.Errorf("%w: PDU of type %#x for an association", errProtocol, kind)
	}
	req, err := parseAssociate(body)
	if err != nil {
		a.write(pduAssociateRJ, rejectVersion)
		return errEnd
	}
	reject := []byte(nil)
	var ok bool
	if a.peer, ok = a.s.known(a.ctx, req.calling, a.from.Peer); !ok {
		reject = rejectCalling
	}
	switch {
	case req.application != applicationContext:
		reject = rejectApp
	case a.s.opts.Title != "" && req.called != a.s.opts.Title:
		reject = rejectCalled
	}
	if reject == nil {
		select {
		case a.s.slots <- struct{}{}:
			a.admitted = true
		default:
			reject = rejectBusy
		}
	}
	if reject != nil {
		a.s.opts.Log.Warn("association is rejected", "peer", a.from.Peer, "reason", reject[3])
		a.write(pduAssociateRJ, reject)
		return errEnd
	}
	a.from.Name, a.from.Called = req.calling, req.called
	for i := range req.contexts {
		c := &req.contexts[i]
		if c.accept(); c.result == contextAccepted {
			a.taken[c.id] = *c
		}
	}
	a.most = leastData
	if req.most == 0 || req.most > leastData {
		a.most = mostData
		if req.most != 0 {
			a.most = int(min(req.most, mostData))
		}
	}
	return a.write(pduAssociateAC, req.accepted())
}

// pdv gives the next value. errEnd means that the peer has released the association, or aborted it.
func (a *session) pdv() (v pdv, err error) {
	for len(a.rest) == 0 {
		kind, body, err := a.read(idleTime)
		switch {
		case err != nil:
			return v, err
		case kind == pduData:
			a.rest = body
		case kind == pduReleaseRQ:
			a.write(pduReleaseRP, make([]byte, 4))
			return v, errEnd
		case kind == pduAbort:
			return v, errEnd
		default:
			return v, fmt.Errorf("%w: PDU of type %#x in an association", errProtocol, kind)
		}
	}
	v, a.rest, err = nextPDV(a.rest)
	return v, err
}

// send sends a message: a command, and a data set unless that is nil.
func (a *session) send(id byte, c command, data []byte) error {
	for _, part := range []struct {
		command bool
		data    []byte
	}{{true, c.bytes()}, {false, data}} {
		if part.data == nil {
			continue
		}
		for rest := part.data; ; {
			n := min(len(rest), a.most-6)
			v := pdv{context: id, command: part.command, last: n == len(rest), data: rest[:n]}
			if err := a.write(pduData, appendPDV(nil, v)); err != nil {
				return err
			}
			if rest = rest[n:]; len(rest) == 0 {
				break
			}
		}
	}
	return nil
}

// message serves the next message of the peer.
func (a *session) message() error {
	var text []byte
	var id byte
	for {
		v, err := a.pdv()
		switch {
		case err != nil:
			return err
		case !v.command || len(text) > 0 && v.context != id || len(text)+len(v.data) > mostCommand:
			return fmt.Errorf("%w: no command, or one that is too long", errProtocol)
		}
		id, text = v.context, append(text, v.data...)
		if v.last {
			break
		}
	}
	c, err := parseCommand(text)
	if err != nil {
		return err
	}
	pc, ok := a.taken[id]
	if !ok {
		return fmt.Errorf("%w: a message in a context that was not accepted", errProtocol)
	}
	var data *dataSet
	if c.short(cmdDataSet) != noDataSet {
		data = &dataSet{a: a, context: id}
	}
	switch field := c.short(cmdField); {
	case field == cEcho && pc.abstract == verificationClass:
		err = a.send(id, answerTo(c, statusOK), nil)
	case field == cStore && data != nil && stores(pc.abstract):
		err = a.store(id, &pc, c, data)
	case field == nAction && data != nil && pc.abstract == commitmentClass:
		err = a.commit(id, &pc, c, data)
	case field == nEventReport|answer:
		a.confirmed(c)
	case field == cCancel || field&answer != 0:
	default:
		if err = data.drain(); err == nil {
			err = a.send(id, answerTo(c, statusUnrecognized), nil)
		}
	}
	if err != nil {
		return err
	}
	return data.drain()
}

// store serves a C-STORE (PS3.7, 9.1.1).
func (a *session) store(id byte, pc *presentation, c command, data *dataSet) error {
	// Some senders take the UID of the instance from file meta information that differs from the data set. The data set
	// holds, and commitment is asked for by its UID.
	class := c.uid(cmdClass)
	status := uint16(statusNoRoom)
	if !a.s.store.Room(0) {
		a.s.store.NoRoom(a.from)
	} else {
		head := fileMeta(class, c.uid(cmdInstance), pc.syntax)
		rec, err := a.s.store.Receive(a.ctx, a.from, io.MultiReader(&sliceReader{head}, data), instances.Expect{Class: class})
		if data.err != nil {
			return data.err
		}
		if status = statusOf(err); status == statusOK && rec.Outcome == instances.Stored {
			a.found(rec.Key)
		}
		if status == statusNoRoom && !errors.Is(err, instances.ErrFull) {
			a.s.opts.Log.Warn("an instance cannot be stored", "session", a.from.Session, "error", err)
		}
	}
	if err := data.drain(); err != nil {
		return err
	}
	return a.send(id, answerTo(c, status), nil)
}

func statusOf(err error) uint16 {
	switch {
	case err == nil:
		return statusOK
	case errors.Is(err, instances.ErrOther):
		return statusOther
	case errors.Is(err, instances.ErrNotDICOM), errors.Is(err, instances.ErrBroken), errors.Is(err, instances.ErrTooLarge):
		return statusUnreadable
	}
	return statusNoRoom
}

// sliceReader reads bytes.
type sliceReader struct{ b []byte }

func (s *sliceReader) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.b)
	s.b = s.b[n:]
	return n, nil
}

// dataSet reads the values of a data set to the last one.
type dataSet struct {
	a       *session
	context byte
	part    []byte
	last    bool
	read    int64
	err     error // of the association; it cannot go on
}

func (d *dataSet) Read(p []byte) (int, error) {
	for len(d.part) == 0 {
		switch {
		case d.err != nil:
			return 0, d.err
		case d.last:
			return 0, io.EOF
		}
		v, err := d.a.pdv()
		if err == nil && (v.command || v.context != d.context) {
			err = fmt.Errorf("%w: another message within a data set", errProtocol)
		}
		// What is too large is not stored; a peer that goes on for ever is stopped.
		if d.read += int64(len(v.data)); err == nil && d.read > 2*d.a.s.store.MostBytes()+mostData {
			err = fmt.Errorf("%w: a data set of more than %d bytes", errProtocol, d.read)
		}
		if err != nil {
			d.err = err
			if errors.Is(err, errEnd) || errors.Is(err, io.EOF) {
				return 0, io.ErrUnexpectedEOF
			}
			return 0, err
		}
		d.part, d.last = v.data, v.last
	}
	n := copy(p, d.part)
	d.part = d.part[n:]
	return n, nil
}

// drain reads what is left; of nil nothing is.
func (d *dataSet) drain() error {
	if d == nil {
		return nil
	}
	if _, err := io.Copy(io.Discard, d); err != nil {
		return d.err
	}
	return nil
}
