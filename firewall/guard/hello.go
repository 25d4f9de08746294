package guard

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/org/claude-sandbox/firewall"
)

// maxHello bounds a ClientHello with its record headers, in bytes. Honest ones
// have 0.2 to 2 KiB, with post-quantum keys and session tickets up to 20 KiB.
const maxHello = 64 << 10

// Record types (RFC 8446 section 5.1) and handshake message types (section 4).
const (
	recordChangeCipherSpec = 20
	recordAlert            = 21
	recordHandshake        = 22
	recordApplicationData  = 23

	messageClientHello = 1
	messageServerHello = 2
)

// maxRecord is the largest payload of a plaintext record (RFC 8446 section 5.1).
const maxRecord = 1 << 14

var (
	errNotTLS   = errors.New("the client did not send TLS")
	errTooLarge = fmt.Errorf("it is larger than %d bytes", maxHello)
)

// flight puts one handshake message together from records that may come in any
// number of pieces. Its zero value, with skip for the record types that may
// come in between, is ready.
type flight struct {
	skip    func(recordType byte) bool
	raw     []byte // all that was added
	message []byte // handshake bytes of the complete records
	parsed  int    // bytes of raw that message was made from
}

// add appends bytes from the wire and reports whether the first n bytes of
// the message, or all of it with n = 0, are there.
func (f *flight) add(b []byte, n int) (bool, error) {
	f.raw = append(f.raw, b...)
	for {
		if done, err := f.complete(n); done || err != nil {
			return done, err
		}
		rest := f.raw[f.parsed:]
		otherRecord := len(rest) > 0 && rest[0] != recordHandshake && (f.skip == nil || !f.skip(rest[0]))
		otherVersion := len(rest) > 1 && rest[1] != 3
		if otherRecord || otherVersion {
			return false, errNotTLS
		}
		if len(f.raw) > maxHello {
			return false, errTooLarge
		}
		if len(rest) < 5 {
			return false, nil
		}
		size := int(rest[3])<<8 | int(rest[4])
		handshake := rest[0] == recordHandshake
		if handshake && (size == 0 || size > maxRecord) {
			return false, fmt.Errorf("a record of %d bytes", size)
		}
		if len(rest) < 5+size {
			return false, nil
		}
		if handshake {
			f.message = append(f.message, rest[5:5+size]...)
		}
		f.parsed += 5 + size
	}
}

func (f *flight) complete(n int) (bool, error) {
	if n > 0 {
		return len(f.message) >= n, nil
	}
	if len(f.message) < 4 {
		return false, nil
	}
	size := 4 + (int(f.message[1])<<16 | int(f.message[2])<<8 | int(f.message[3]))
	switch {
	case f.message[0] != messageClientHello:
		return false, errors.New("the handshake does not begin with a ClientHello")
	case size > maxHello:
		return false, errTooLarge
	case len(f.message) > size:
		return false, errors.New("another message follows the ClientHello in its record")
	}
	return len(f.message) == size, nil
}

// cursor reads the presentation language of RFC 8446 section 3. Reading past
// the end makes it bad and gives zeros.
type cursor struct {
	rest []byte
	bad  bool
}

func (c *cursor) take(n int) []byte {
	if n > len(c.rest) {
		c.bad, c.rest = true, nil
		return nil
	}
	head := c.rest[:n]
	c.rest = c.rest[n:]
	return head
}

func (c *cursor) number(size int) int {
	n := 0
	for _, b := range c.take(size) {
		n = n<<8 | int(b)
	}
	return n
}

// vector reads a vector whose length takes size bytes.
func (c *cursor) vector(size int) *cursor {
	body := c.take(c.number(size))
	return &cursor{rest: body, bad: c.bad}
}

// Extension types (RFC 6066 section 3).
const (
	extensionServerName = 0
	nameTypeHost        = 0
)

var errMalformedHello = errors.New("the ClientHello is malformed")

// parseHello returns the name that a ClientHello message asks for, canonical.
func parseHello(message []byte) (string, error) {
	c := &cursor{rest: message}
	if c.number(1) != messageClientHello {
		return "", errMalformedHello
	}
	body := c.vector(3)
	if c.bad || len(c.rest) > 0 {
		return "", errMalformedHello
	}
	body.take(2 + 32) // version, random
	session := body.vector(1)
	suites := body.vector(2)
	compression := body.vector(1)
	if body.bad || len(session.rest) > 32 || len(suites.rest) < 2 || len(suites.rest)%2 != 0 || len(compression.rest) == 0 {
		return "", errMalformedHello
	}
	if len(body.rest) == 0 {
		return "", errNoName // a hello of the time before extensions
	}
	extensions := body.vector(2)
	if body.bad || len(body.rest) > 0 {
		return "", errMalformedHello
	}
	name, found := "", false
	seen := map[int]bool{}
	for len(extensions.rest) > 0 {
		kind := extensions.number(2)
		data := extensions.vector(2)
		if extensions.bad {
			return "", errMalformedHello
		}
		if seen[kind] {
			// Which of two a server takes is its own affair, so neither counts.
			return "", fmt.Errorf("the ClientHello has extension %d twice", kind)
		}
		seen[kind] = true
		if kind != extensionServerName {
			continue
		}
		var err error
		if name, err = serverName(data); err != nil {
			return "", err
		}
		found = true
	}
	if !found {
		return "", errNoName
	}
	return name, nil
}

var errNoName = errors.New("the ClientHello names no server (SNI)")

// serverName reads the extension of RFC 6066 section 3: a list that can hold
// one name of each type, of which there is one.
func serverName(data *cursor) (string, error) {
	list := data.vector(2)
	if data.bad || len(data.rest) > 0 || len(list.rest) == 0 {
		return "", errors.New("the server name (SNI) is malformed")
	}
	kind := list.number(1)
	name := list.vector(2)
	switch {
	case list.bad:
		return "", errors.New("the server name (SNI) is malformed")
	case len(list.rest) > 0:
		return "", errors.New("the ClientHello names more than one server")
	case kind != nameTypeHost:
		return "", fmt.Errorf("the server name (SNI) is of the unknown type %d", kind)
	case bytes.HasSuffix(name.rest, []byte(".")):
		// RFC 6066 forbids it, and servers take it for none of their names.
		return "", errors.New("the server name (SNI) ends with a dot")
	}
	return plainName(string(name.rest))
}

// plainName returns the canonical form of a name that was sent over the wire.
// There, unlike in a policy, a name is plain ASCII already: what a server would
// make of another spelling than upper and lower case is not ours to guess.
func plainName(sent string) (string, error) {
	name, err := firewall.CanonicalName(sent)
	if err != nil {
		if addr, addrErr := netip.ParseAddr(strings.Trim(sent, "[]")); addrErr == nil {
			err = fmt.Errorf("it names the address %s instead of a site: ask for it by its name", addr)
		}
		return "", err
	}
	for i := range len(sent) {
		if sent[i] >= 0x80 {
			return "", fmt.Errorf("%q is not plain ASCII", sent)
		}
	}
	if strings.ToLower(strings.TrimSuffix(sent, ".")) != name {
		return "", fmt.Errorf("%q is not the usual spelling of %s", sent, name)
	}
	return name, nil
}
