package dimse

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pelmill/pelmill/scheduler/intake/instances"
)

// Elements of storage commitment (PS3.4, J.3).
const (
	tagReferencedClass    = 0x00081150
	tagReferencedInstance = 0x00081155
	tagTransaction        = 0x00081195
	tagFailureReason      = 0x00081197
	tagFailed             = 0x00081198
	tagReferenced         = 0x00081199
)

// Failure reasons (0008,1197).
const (
	failedProcessing = 0x0110
	failedMissing    = 0x0112
	failedClass      = 0x0119
)

const (
	mostCommitment = 32 << 20 // bytes of the data set of a request
	mostReferences = 100_000
	mostReports    = 256
)

// reportAgain are the waits after which a result is sent again.
var reportAgain = []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 17 * time.Hour}

// reference is an instance that a peer wants to be sure of, and why it cannot be; 0: it is safe.
type reference struct {
	class, instance string
	failed          uint16
}

// commitment is a request for storage commitment.
type commitment struct {
	transaction string
	refs        []reference
	from        instances.Sender
}

// commit serves an N-ACTION (PS3.4, J.3.2).
func (a *session) commit(id byte, pc *presentation, c command, data *dataSet) error {
	body, err := io.ReadAll(io.LimitReader(data, mostCommitment+1))
	if err != nil {
		return data.err
	}
	if err := data.drain(); err != nil {
		return err
	}
	req, err := parseCommitment(body, pc.syntax == explicitLittle)
	req.from = a.from
	req.from.Protocol = "commitment"
	status := uint16(statusOK)
	switch {
	case c.short(cmdAction) != 1:
		status = statusNoAction
	case err != nil || len(body) > mostCommitment:
		status = statusProcessing
	}
	if err := a.send(id, answerTo(c, status), nil); err != nil || status != statusOK {
		return err
	}
	if a.peer.Port == "" || a.peer.Host == "" {
		a.s.check(a.ctx, &req)
		a.sent++
		a.wait[a.sent] = req
		report, body := req.report(a.sent, pc.syntax == explicitLittle)
		return a.send(id, report, body)
	}
	select {
	case a.s.reports <- struct{}{}:
	default:
		a.s.noteCommitment(&req, "unreported")
		return nil
	}
	peer := a.peer
	a.late.Go(func() {
		defer func() { <-a.s.reports }()
		a.s.check(a.ctx, &req)
		a.s.deliver(a.ctx, peer, &req)
	})
	return nil
}

// confirmed takes the answer to an N-EVENT-REPORT.
func (a *session) confirmed(c command) {
	if req, ok := a.wait[c.short(cmdAnswers)]; ok {
		delete(a.wait, c.short(cmdAnswers))
		a.s.noteCommitment(&req, "reported")
	}
}

// undelivered notes the results that the peer has not confirmed, and gives the association's place back.
func (a *session) undelivered() {
	for _, req := range a.wait {
		a.s.noteCommitment(&req, "unreported")
	}
	if a.admitted {
		<-a.s.slots
	}
}

// check finds out which instances are safe.
func (s *Server) check(ctx context.Context, req *commitment) {
	for i := range req.refs {
		r := &req.refs[i]
		class, ok, err := s.store.Committed(ctx, r.instance)
		switch {
		case err != nil:
			r.failed = failedProcessing
		case !ok:
			r.failed = failedMissing
		case class != r.class:
			r.failed = failedClass
		}
	}
}

// noteCommitment writes a line of the audit trail for each instance.
func (s *Server) noteCommitment(req *commitment, reason string) {
	for _, r := range req.refs {
		line := instances.Line{Actor: req.from, Action: "commit", Outcome: "committed", Reason: reason, Instance: s.store.Hash("instance", r.instance)}
		if r.failed != 0 {
			line.Outcome = fmt.Sprintf("failed %04X", r.failed)
		}
		if err := s.store.Note(line); err != nil {
			s.opts.Log.Warn("the audit trail cannot be written", "error", err)
			return
		}
	}
}

// deliver sends a result on an association of its own, again and again for a day.
func (s *Server) deliver(ctx context.Context, peer Peer, req *commitment) {
	for _, wait := range append([]time.Duration{0}, s.again...) {
		t := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			t.Stop()
			s.noteCommitment(req, "unreported")
			return
		case <-t.C:
		}
		err := s.deliverOnce(ctx, peer, req)
		if err == nil {
			s.noteCommitment(req, "reported")
			return
		}
		s.opts.Log.Debug("the result of storage commitment cannot be delivered", "peer", peer.Title, "error", err)
	}
	s.noteCommitment(req, "unreported")
	s.opts.Log.Warn("the result of storage commitment was not delivered", "peer", peer.Title)
}

var errRefused = errors.New("dimse: the peer does not take the result")

func (s *Server) deliverOnce(ctx context.Context, peer Peer, req *commitment) error {
	conn, err := (&net.Dialer{Timeout: requestTime}).DialContext(ctx, "tcp", net.JoinHostPort(peer.Host, peer.Port))
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	a := &session{ctx: ctx, s: s, conn: conn, r: bufio.NewReader(conn), end: time.Now().Add(associationTime), most: leastData}
	if err := a.write(pduAssociateRQ, request(s.title, peer.Title, commitmentClass)); err != nil {
		return err
	}
	kind, body, err := a.read(requestTime)
	if err != nil {
		return err
	}
	if kind != pduAssociateAC {
		return errRefused
	}
	ac, err := parseAssociate(body)
	if err != nil || len(ac.contexts) != 1 || ac.contexts[0].result != contextAccepted || len(ac.contexts[0].offered) != 1 {
		a.write(pduAbort, abortProvider)
		return errors.Join(errRefused, err)
	}
	c, data := req.report(1, ac.contexts[0].offered[0] == explicitLittle)
	if err := a.send(ac.contexts[0].id, c, data); err != nil {
		return err
	}
	var text []byte
	for last := false; !last; {
		v, err := a.pdv()
		if err != nil {
			return errors.Join(errRefused, err)
		}
		if text = append(text, v.data...); !v.command || len(text) > mostCommand {
			return errProtocol
		}
		last = v.last
	}
	answered, err := parseCommand(text)
	if err != nil {
		return err
	}
	if answered.short(cmdField) != nEventReport|answer || answered.short(cmdStatus) != statusOK {
		return errRefused
	}
	// The peer has the result, whatever becomes of the association.
	if a.write(pduReleaseRQ, make([]byte, 4)) == nil {
		a.read(writeTime)
	}
	return nil
}

// report is the N-EVENT-REPORT of a result (PS3.4, J.3.3), and its data set.
func (req *commitment) report(id uint16, explicit bool) (command, []byte) {
	w := &writer{explicit: explicit}
	var safe, failed []byte
	for _, r := range req.refs {
		item := &writer{explicit: explicit}
		item.element(tagReferencedClass, "UI", padded(r.class))
		item.element(tagReferencedInstance, "UI", padded(r.instance))
		if r.failed == 0 {
			safe = appendInItem(safe, item.b)
			continue
		}
		item.element(tagFailureReason, "US", binary.LittleEndian.AppendUint16(nil, r.failed))
		failed = appendInItem(failed, item.b)
	}
	c := command{}
	c.setUID(cmdClass, commitmentClass)
	c.setShort(cmdField, nEventReport)
	c.setShort(cmdID, id)
	c.setShort(cmdDataSet, 0)
	c.setUID(cmdInstance, commitmentInstance)
	c.setShort(cmdEventType, 1)
	w.element(tagTransaction, "UI", padded(req.transaction))
	if failed != nil {
		c.setShort(cmdEventType, 2)
		w.element(tagFailed, "SQ", failed)
	}
	if safe != nil {
		w.element(tagReferenced, "SQ", safe)
	}
	return c, w.b
}
