package dimse

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pelmill/pelmill/internal/faults"
	"github.com/pelmill/pelmill/scheduler/intake/instances"
	"github.com/pelmill/pelmill/storage"
)

// user is a peer made of bytes.
type user struct {
	t    *testing.T
	conn net.Conn
}

func (r *rig) dial() *user {
	r.t.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+r.port)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	return &user{r.t, c}
}

// associateRQ is a request with contexts 1, 3, 5... of abstract syntaxes and their transfer syntaxes.
func associateRQ(contexts ...[]string) []byte {
	out := make([]byte, 68)
	out[1] = 1
	copy(out[4:36], "PELMILL         USER            ")
	out = appendItem(out, itemApplication, []byte(applicationContext))
	for i, c := range contexts {
		item := appendItem([]byte{byte(2*i + 1), 0, 0, 0}, itemAbstract, []byte(c[0]))
		for _, s := range c[1:] {
			item = appendItem(item, itemTransfer, []byte(s))
		}
		out = appendItem(out, itemContextRQ, item)
	}
	return appendItem(out, itemUser, userInformation(nil))
}

// associate gives what the server says.
func (u *user) associate(body []byte) (kind byte, answer []byte) {
	u.t.Helper()
	if err := writePDU(u.conn, pduAssociateRQ, body); err != nil {
		u.t.Fatal(err)
	}
	return u.read()
}

func (u *user) read() (kind byte, body []byte) {
	u.t.Helper()
	kind, body, err := readPDU(u.conn, nil)
	if err != nil {
		return 0, []byte(err.Error())
	}
	return kind, body
}

// storeRQ is the command of a C-STORE.
func storeRQ(class, instance string) command {
	c := command{}
	c.setUID(cmdClass, class)
	c.setShort(cmdField, cStore)
	c.setShort(cmdID, 7)
	c.setShort(cmdDataSet, 0)
	c.setUID(cmdInstance, instance)
	return c
}

// message sends a command and a data set in values of n bytes, and gives the status of the answer.
func (u *user) message(id byte, c command, data []byte, n int) (status int) {
	u.t.Helper()
	body := appendPDV(nil, pdv{id, true, true, c.bytes()})
	for first := true; data != nil && (first || len(data) > 0); first = false {
		part := data[:min(n, len(data))]
		data = data[len(part):]
		body = appendPDV(body, pdv{id, false, len(data) == 0, part})
		if len(body) > 32<<10 || len(data) == 0 {
			writePDU(u.conn, pduData, body)
			body = nil
		}
	}
	if body != nil {
		writePDU(u.conn, pduData, body)
	}
	kind, answer := u.read()
	if kind != pduData {
		return -int(kind) - 1
	}
	v, _, err := nextPDV(answer)
	if err != nil {
		u.t.Fatal(err)
	}
	got, err := parseCommand(v.data)
	if err != nil || got.short(cmdAnswers) != c.short(cmdID) || got.short(cmdField) != c.short(cmdField)|0x8000 {
		u.t.Fatalf("%v %v", got, err)
	}
	return int(got.short(cmdStatus))
}

func TestContexts(t *testing.T) {
	r := newRig(t, Options{}, nil, nil)
	u := r.dial()
	kind, body := u.associate(associateRQ(
		[]string{verificationClass, implicitLittle},
		[]string{faults.MRImageStorage, "1.2.840.10008.1.2.4.70", explicitLittle},
		[]string{faults.MRImageStorage, implicitLittle, explicitLittle},
		[]string{"1.2.840.10008.5.1.4.1.2.1.1", implicitLittle}, // a query
		[]string{"1.3.6.1.4.1.1.2", "1.3.6.1.4.1.99"},           // private
		[]string{verificationClass, "1.2.840.10008.1.2.4.70"},
		[]string{commitmentClass, explicitLittle}))
	if kind != pduAssociateAC {
		t.Fatalf("PDU %d: %q", kind, body)
	}
	a, err := parseAssociate(body)
	if err != nil || a.called != "PELMILL" || a.calling != "USER" || a.most != mostData {
		t.Fatalf("%+v %v", a, err)
	}
	want := []string{"0 " + implicitLittle, "0 1.2.840.10008.1.2.4.70", "0 " + explicitLittle, "3 " + implicitLittle, "0 1.3.6.1.4.1.99", "4 1.2.840.10008.1.2.4.70", "0 " + explicitLittle}
	for i, c := range a.contexts {
		if got := string('0'+rune(c.result)) + " " + c.offered[0]; got != want[i] || int(c.id) != 2*i+1 {
			t.Errorf("context %d: %s, want %s", c.id, got, want[i])
		}
	}
}

func TestStatuses(t *testing.T) {
	a, b := faults.NewInstance(1, 0, 8, 8, patient), faults.NewInstance(1, 1, 90, 90, patient)
	r := newRig(t, Options{}, &instances.Options{MostBytes: 20_000}, nil)
	u := r.dial()
	if kind, _ := u.associate(associateRQ([]string{faults.MRImageStorage, explicitLittle}, []string{verificationClass, implicitLittle})); kind != pduAssociateAC {
		t.Fatal(kind)
	}
	set := func(in faults.Instance) []byte { return in.Data[in.Dataset:] }
	large := slices.Concat(set(b), make([]byte, 20_000))
	for i, c := range []struct {
		id       byte
		class    string
		instance string
		data     []byte
		part     int
		want     int
	}{
		{1, faults.MRImageStorage, a.UID, set(a), 1, statusOK},
		{1, faults.MRImageStorage, a.UID, set(a), 10_000, statusOK},
		{1, "1.2.840.10008.5.1.4.1.1.2", a.UID, set(a), 100, statusOther},
		{1, faults.MRImageStorage, a.UID, set(a)[:50], 100, statusUnreadable},
		{1, faults.MRImageStorage, a.UID, []byte{}, 100, statusUnreadable},
		{1, faults.MRImageStorage, b.UID, large, 1000, statusUnreadable}, // too large
		{3, faults.MRImageStorage, a.UID, set(a), 100, statusUnrecognized},
		{1, faults.MRImageStorage, "1.2.3", set(b), 1000, statusOK}, // the UID of the data set holds
		{1, faults.MRImageStorage, b.UID, set(b), 1000, statusOK},
	} {
		if got := u.message(c.id, storeRQ(c.class, c.instance), c.data, c.part); got != c.want {
			t.Errorf("%d: status %04X, want %04X", i, got, c.want)
		}
	}
	echo := command{}
	echo.setShort(cmdField, cEcho)
	echo.setShort(cmdDataSet, noDataSet)
	if got := u.message(3, echo, nil, 0); got != statusOK {
		t.Errorf("echo: %04X", got)
	}
	// Without room a data set is read and not stored.
	full := newRig(t, Options{}, &instances.Options{Budget: 5000}, nil).dial()
	full.associate(associateRQ([]string{faults.MRImageStorage, explicitLittle}))
	for i, c := range []struct {
		in   faults.Instance
		want int
	}{{b, statusNoRoom}, {a, statusOK}, {b, statusNoRoom}} {
		if got := full.message(1, storeRQ(faults.MRImageStorage, c.in.UID), set(c.in), 1000); got != c.want {
			t.Errorf("full, %d: status %04X, want %04X", i, got, c.want)
		}
	}
	writePDU(u.conn, pduReleaseRQ, make([]byte, 4))
	if kind, _ := u.read(); kind != pduReleaseRP {
		t.Errorf("release: PDU %d", kind)
	}
}

func TestHostilePeers(t *testing.T) {
	r := newRig(t, Options{Associations: 2}, nil, nil)
	ok := associateRQ([]string{faults.MRImageStorage, explicitLittle})
	huge := binary.BigEndian.AppendUint32([]byte{pduData, 0}, 1<<31)
	version := bytes.Clone(ok)
	version[1] = 2
	for name, c := range map[string]struct {
		associate []byte // nil: the bytes come at once
		then      []byte
		want      byte
	}{
		"no association":         {nil, []byte{pduReleaseRQ, 0, 0, 0, 0, 4, 0, 0, 0, 0}, pduAbort},
		"another protocol":       {nil, []byte("GET / HTTP/1.1\r\n\r\n"), pduAbort},
		"a PDU of 2 GiB":         {ok, huge, pduAbort},
		"a short value":          {ok, []byte{pduData, 0, 0, 0, 0, 5, 0, 0, 0, 1, 1}, pduAbort},
		"a value over the end":   {ok, []byte{pduData, 0, 0, 0, 0, 6, 0, 0, 1, 0, 1, 3}, pduAbort},
		"data without a command": {ok, []byte{pduData, 0, 0, 0, 0, 8, 0, 0, 0, 4, 1, 2, 0, 0}, pduAbort},
		"an unknown context":     {ok, pduOf(appendPDV(nil, pdv{99, true, true, storeRQ("1", "2").bytes()})), pduAbort},
		"an unknown PDU":         {ok, []byte{9, 0, 0, 0, 0, 0}, pduAbort},
		"another version":        {nil, append(binary.BigEndian.AppendUint32([]byte{pduAssociateRQ, 0}, uint32(len(version))), version...), pduAssociateRJ},
		"a cut item":             {nil, append(binary.BigEndian.AppendUint32([]byte{pduAssociateRQ, 0}, uint32(len(ok)-3)), ok[:len(ok)-3]...), pduAssociateRJ},
	} {
		u := r.dial()
		if c.associate != nil {
			faults.Until(t, time.Minute, "an association", func() bool {
				kind, _ := u.associate(c.associate)
				if kind != pduAssociateAC {
					u = r.dial() // the one before has not ended yet
				}
				return kind == pduAssociateAC
			})
		}
		u.conn.Write(c.then)
		if kind, body := u.read(); kind != c.want {
			t.Errorf("%s: PDU %d %q, want %d", name, kind, body, c.want)
		}
		u.conn.Close()
	}
	// More associations than allowed are told to come again.
	var open []*user
	for range 2 {
		faults.Until(t, time.Minute, "an association", func() bool {
			u := r.dial()
			kind, _ := u.associate(ok)
			open = append(open, u)
			return kind == pduAssociateAC
		})
	}
	if kind, body := r.dial().associate(ok); kind != pduAssociateRJ || !bytes.Equal(body, rejectBusy) {
		t.Errorf("a third association: PDU %d %v", kind, body)
	}
}

func pduOf(body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{pduData, 0}, uint32(len(body))), body...)
}

func TestPeersAndAddresses(t *testing.T) {
	for text, want := range map[string]Peer{"CT1": {Title: "CT1"}, "CT 1@10.0.0.5": {"CT 1", "10.0.0.5", ""}, "CT1@host:104": {"CT1", "host", "104"}, "CT1@[::1]:104": {"CT1", "::1", "104"}} {
		if got, err := ParsePeer(text); err != nil || got != want {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "@host", "CT1@", "ABCDEFGHIJKLMNOPQ", "A\\B", " X"} {
		if p, err := ParsePeer(text); err == nil {
			t.Errorf("%q: %+v", text, p)
		}
	}
	for address, ok := range map[string]bool{":0": true, "127.0.0.1:0": true, "localhost:0": true, "0.0.0.0:0": false, "nothing": false} {
		if _, err := New(nil, Options{Address: address}); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
	if _, err := New(nil, Options{Address: "0.0.0.0:0", Peers: []Peer{{Title: "A"}}}); err != nil {
		t.Error(err)
	}
}

func TestCommitmentRequests(t *testing.T) {
	want := commitment{transaction: "1.2.3", refs: []reference{{"1.2", "1.2.4", 0}, {"1.2", "1.2.5", 0}}}
	for _, explicit := range []bool{false, true} {
		_, data := want.report(1, explicit)
		got, err := parseCommitment(data, explicit)
		if err != nil || got.transaction != want.transaction || !slices.Equal(got.refs, want.refs) {
			t.Errorf("explicit %v: %+v, %v", explicit, got, err)
		}
		for n := range data {
			if got, err := parseCommitment(data[:n], explicit); err == nil && len(got.refs) == 2 {
				t.Errorf("cut at %d: %+v", n, got)
			}
		}
	}
	// Other sequences, of defined and undefined length and nested, may have UIDs that are not asked for.
	w := &writer{explicit: true}
	inner := &writer{explicit: true}
	inner.element(tagReferencedInstance, "UI", padded("9.9"))
	w.element(0x00081111, "SQ", appendInItem(nil, inner.b))
	w.b = append(w.b, 0x08, 0x00, 0x15, 0x11, 'S', 'Q', 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0xFE, 0xFF, 0x00, 0xE0, 0xFF, 0xFF, 0xFF, 0xFF)
	w.b = append(append(w.b, inner.b...), 0xFE, 0xFF, 0x0D, 0xE0, 0, 0, 0, 0, 0xFE, 0xFF, 0xDD, 0xE0, 0, 0, 0, 0)
	_, rest := want.report(1, true)
	if got, err := parseCommitment(append(w.b, rest...), true); err != nil || !slices.Equal(got.refs, want.refs) {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzAssociate(f *testing.F) {
	f.Add(associateRQ([]string{faults.MRImageStorage, explicitLittle}, []string{verificationClass, implicitLittle}))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, err := parseAssociate(body)
		if err != nil {
			return
		}
		for i := range a.contexts {
			a.contexts[i].accept()
		}
		if b, err := parseAssociate(a.accepted()); err != nil || len(b.contexts) != len(a.contexts) || b.called != a.called {
			t.Errorf("%+v, %v", b, err)
		}
	})
}

func FuzzCommitment(f *testing.F) {
	_, data := (&commitment{transaction: "1.2.3", refs: []reference{{"1.2", "1.2.4", 0}}}).report(1, true)
	f.Add(data, true)
	f.Fuzz(func(t *testing.T, data []byte, explicit bool) { parseCommitment(data, explicit) })
}

// duplex is a connection of bytes that were written before.
type duplex struct {
	net.Conn
	in  *bytes.Reader
	out bytes.Buffer
}

func (d *duplex) Read(p []byte) (int, error)       { return d.in.Read(p) }
func (d *duplex) Write(p []byte) (int, error)      { return d.out.Write(p) }
func (d *duplex) SetReadDeadline(time.Time) error  { return nil }
func (d *duplex) SetWriteDeadline(time.Time) error { return nil }
func (d *duplex) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// FuzzSession gives a server whatever bytes after an association. What it says are whole PDUs.
func FuzzSession(f *testing.F) {
	in := faults.NewInstance(1, 0, 2, 2, patient)
	store := appendPDV(appendPDV(nil, pdv{1, true, true, storeRQ(faults.MRImageStorage, in.UID).bytes()}), pdv{1, false, true, in.Data[in.Dataset:]})
	f.Add(pduOf(store))
	f.Add(slices.Concat(pduOf(store[:40]), pduOf(store[40:])))
	buckets := storage.NewBuckets()
	f.Cleanup(func() { buckets.Close() })
	b, err := buckets.Open(context.Background(), "mem://fuzz")
	if err != nil {
		f.Fatal(err)
	}
	kept, err := instances.Open(context.Background(), b, b, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { kept.Close() })
	s, err := New(kept, Options{Address: ":0"})
	if err != nil {
		f.Fatal(err)
	}
	hello := associateRQ([]string{faults.MRImageStorage, explicitLittle}, []string{verificationClass, implicitLittle}, []string{commitmentClass, implicitLittle})
	hello = append(binary.BigEndian.AppendUint32([]byte{pduAssociateRQ, 0}, uint32(len(hello))), hello...)
	f.Fuzz(func(t *testing.T, data []byte) {
		c := &duplex{in: bytes.NewReader(slices.Concat(hello, data))}
		a := newSession(t.Context(), s, c, func(string) {}, nil)
		a.run()
		for {
			if _, _, err := readPDU(&c.out, nil); err == io.EOF {
				break
			} else if err != nil {
				t.Fatal(err)
			}
		}
		if len(s.slots) != 0 {
			t.Error("the association's place is taken")
		}
		if strings.Contains(c.out.String(), "MARK") {
			t.Error("the answer has a value")
		}
	})
}
