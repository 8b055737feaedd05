package dimse

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
)

// Items of A-ASSOCIATE (PS3.8, 9.3.2; PS3.7, D.3.3).
const (
	itemApplication = 0x10
	itemContextRQ   = 0x20
	itemContextAC   = 0x21
	itemAbstract    = 0x30
	itemTransfer    = 0x40
	itemUser        = 0x50
	itemMaxLength   = 0x51
	itemClass       = 0x52
	itemRole        = 0x54
	itemVersion     = 0x55
)

const (
	applicationContext = "1.2.840.10008.3.1.1.1"
	// ImplementationClass is the UID of this implementation (PS3.7, D.3.3.2), made from a UUID by PS3.5, B.2.
	ImplementationClass = "2.25.93420985204813947611053927360528813264"
	// ImplementationVersion is the name of this implementation.
	ImplementationVersion = "PELMILL"
)

// SOP classes that are no storage.
const (
	verificationClass  = "1.2.840.10008.1.1"
	commitmentClass    = "1.2.840.10008.1.20.1"
	commitmentInstance = "1.2.840.10008.1.20.1.1"
)

const (
	implicitLittle = "1.2.840.10008.1.2"
	explicitLittle = "1.2.840.10008.1.2.1"
)

// Results of a presentation context (PS3.8, 9.3.3.2).
const (
	contextAccepted       = 0
	contextNoAbstract     = 3
	contextNoTransfer     = 4
	mostContexts          = 128
	mostSyntaxesOfContext = 256
)

// presentation is a presentation context.
type presentation struct {
	id       byte
	abstract string
	offered  []string // transfer syntaxes in the order of the request
	result   byte
	syntax   string // that was taken
}

// association is what an A-ASSOCIATE-RQ or -AC says.
type association struct {
	head            []byte // its first 68 bytes, which the answer repeats
	called, calling string
	application     string
	contexts        []presentation
	most            uint32 // bytes of a P-DATA-TF that the peer takes; 0: any
}

// parseAssociate reads the body of an A-ASSOCIATE-RQ or -AC.
func parseAssociate(body []byte) (*association, error) {
	if len(body) < 68 || binary.BigEndian.Uint16(body)&1 == 0 {
		return nil, fmt.Errorf("%w: A-ASSOCIATE of another version", errProtocol)
	}
	a := &association{head: slices.Clone(body[:68]), called: title(body[4:20]), calling: title(body[20:36])}
	return a, items(body[68:], func(kind byte, data []byte) error {
		switch kind {
		case itemApplication:
			a.application = uid(data)
		case itemContextRQ, itemContextAC:
			if len(a.contexts) == mostContexts || len(data) < 4 {
				return errProtocol
			}
			c := presentation{id: data[0], result: data[2]}
			a.contexts = append(a.contexts, c)
			return items(data[4:], a.contexts[len(a.contexts)-1].syntaxes)
		case itemUser:
			return items(data, func(kind byte, data []byte) error {
				if kind == itemMaxLength && len(data) == 4 {
					a.most = binary.BigEndian.Uint32(data)
				}
				return nil
			})
		}
		return nil
	})
}

func (c *presentation) syntaxes(kind byte, data []byte) error {
	switch {
	case kind == itemAbstract:
		c.abstract = uid(data)
	case kind == itemTransfer && len(c.offered) < mostSyntaxesOfContext:
		c.offered = append(c.offered, uid(data))
	}
	return nil
}

// items calls fn with each item of a list: a type, a reserved byte, the length in two bytes, and the data.
func items(b []byte, fn func(kind byte, data []byte) error) error {
	for len(b) > 0 {
		if len(b) < 4 {
			return fmt.Errorf("%w: item of %d bytes", errProtocol, len(b))
		}
		n := int(binary.BigEndian.Uint16(b[2:]))
		if n > len(b)-4 {
			return fmt.Errorf("%w: item of %d bytes in %d", errProtocol, n, len(b)-4)
		}
		if err := fn(b[0], b[4:4+n]); err != nil {
			return err
		}
		b = b[4+n:]
	}
	return nil
}

func appendItem(b []byte, kind byte, data []byte) []byte {
	b = binary.BigEndian.AppendUint16(append(b, kind, 0), uint16(len(data)))
	return append(b, data...)
}

// title is an AE title without its padding. It may hold anything that is one line of ASCII.
func title(b []byte) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, string(b)), " ")
}

func uid(b []byte) string { return strings.TrimRight(string(b), "\x00 ") }

// stores reports whether a SOP class stores: those of PS3.4, B.5 and GG.3, and private ones.
func stores(class string) bool {
	rest, standard := strings.CutPrefix(class, "1.2.840.10008.")
	if !standard {
		return class != ""
	}
	for _, prefix := range []string{"5.1.4.1.1.", "5.1.4.34.7", "5.1.4.34.10", "5.1.4.38.1", "5.1.4.39.1", "5.1.4.43.1", "5.1.4.44.1", "5.1.4.45.1", "5.1.1.27", "5.1.1.29", "5.1.1.30"} {
		if strings.HasPrefix(rest, prefix) {
			return true
		}
	}
	return false
}

// accept decides about a context that a peer proposes.
func (c *presentation) accept() {
	choose := func(ok func(string) bool) {
		if i := slices.IndexFunc(c.offered, ok); i >= 0 {
			c.result, c.syntax = contextAccepted, c.offered[i]
		} else {
			c.result = contextNoTransfer
		}
	}
	switch {
	case c.abstract == verificationClass || c.abstract == commitmentClass:
		choose(func(s string) bool { return s == explicitLittle || s == implicitLittle })
	case stores(c.abstract):
		choose(func(s string) bool { return s != "" })
		if c.syntax == implicitLittle && slices.Contains(c.offered, explicitLittle) {
			c.syntax = explicitLittle
		}
	default:
		c.result = contextNoAbstract
	}
	if c.syntax == "" && len(c.offered) > 0 {
		c.syntax = c.offered[0] // it is not significant, but must be there
	}
}

// accepted is the body of an A-ASSOCIATE-AC.
func (a *association) accepted() []byte {
	out := slices.Clone(a.head)
	binary.BigEndian.PutUint16(out, 1)
	out = appendItem(out, itemApplication, []byte(applicationContext))
	for _, c := range a.contexts {
		out = appendItem(out, itemContextAC, appendItem([]byte{c.id, 0, c.result, 0}, itemTransfer, []byte(c.syntax)))
	}
	return appendItem(out, itemUser, userInformation(nil))
}

// userInformation is the content of the item with what is said of this implementation.
func userInformation(role []byte) []byte {
	out := appendItem(nil, itemMaxLength, binary.BigEndian.AppendUint32(nil, mostData))
	out = appendItem(out, itemClass, []byte(ImplementationClass))
	if role != nil {
		out = appendItem(out, itemRole, role)
	}
	return appendItem(out, itemVersion, []byte(ImplementationVersion))
}

// request is the body of an A-ASSOCIATE-RQ with one context, in which this side is the SCP (PS3.7, D.3.3.4).
func request(calling, called, abstract string) []byte {
	out := make([]byte, 68)
	out[1] = 1
	copy(out[4:20], fmt.Sprintf("%-16s", called))
	copy(out[20:36], fmt.Sprintf("%-16s", calling))
	out = appendItem(out, itemApplication, []byte(applicationContext))
	c := appendItem([]byte{1, 0, 0, 0}, itemAbstract, []byte(abstract))
	c = appendItem(c, itemTransfer, []byte(explicitLittle))
	c = appendItem(c, itemTransfer, []byte(implicitLittle))
	out = appendItem(out, itemContextRQ, c)
	role := binary.BigEndian.AppendUint16(nil, uint16(len(abstract)))
	role = append(append(role, abstract...), 0, 1)
	return appendItem(out, itemUser, userInformation(role))
}
