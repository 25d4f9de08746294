package operation

import (
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Request is the head of a request as it was read inside the opened TLS. It has no field by
// which a server takes it for one with another method, path or host.
type Request struct {
	Host   string // canonical: the name of the certificate that the client accepted, and of its Host or :authority
	Port   uint16
	Method string // as sent, for methods are case-sensitive, or WebSocket
	Path   Path
	Query  string      // raw, without "?"
	Header http.Header // only read
}

// Decision is what may become of a request.
type Decision struct {
	Allowed bool

	// Rule is the entry that decided, as written; "" when none did.
	Rule string

	// Operation names what the request does, for records and people:
	// "git push acme/app refs/heads/main", "GET /v1/models". It holds no query
	// and no value of a body. "" = no kind knew it.
	Operation string

	Reason string // one sentence for people; lower case, no full stop
	Wants  string // the narrowest entry that would allow it; "" = no entry can

	// Observe looks at the response to an allowed request, for what later
	// decisions depend on: refs that the server took, ids that it gave. nil = the
	// response tells nothing. With it, the request goes out with
	// "Accept-Encoding: identity". It is called once, with the response's head;
	// each byte of the body is written to what it returns (nil = none is wanted)
	// before the client gets it, and Close says that the body ended whole: after a
	// broken one it is not called. No call blocks or fails.
	Observe func(status int, header http.Header) io.WriteCloser

	// Screen is what the body of an allowed request passes through on its way: it
	// fails with ErrOverride instead of giving the whole of one that asks for
	// another operation. nil = nothing is looked for.
	Screen func(body io.Reader) io.Reader

	// Keyless says that no key of the user's goes with the request: its host is another one than
	// the entry's, and keeps files alone, or the request has what the host made of a key.
	Keyless bool

	// Answer is the refusal in the protocol of the client, for one that shows
	// no words of a plain 403; nil = a plain one.
	Answer *Answer
}

// Answer is a response that is made here, in place of the server's.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Host is a host whose TLS is opened.
type Host struct {
	Name     string // canonical; of a wildcard the part behind "*."
	Wildcard bool   // any name below Name, and not Name itself
	Port     uint16
}

// String writes the host as entries do, with its port.
func (h Host) String() string {
	name := h.Name
	if h.Wildcard {
		name = "*." + name
	}
	return name + ":" + strconv.Itoa(int(h.Port))
}

// Matches reports whether the canonical name and port are h's.
func (h Host) Matches(name string, port uint16) bool {
	if port != h.Port {
		return false
	}
	if !h.Wildcard {
		return name == h.Name
	}
	n := len(name) - len(h.Name)
	return n > 1 && name[n-1] == '.' && name[n:] == h.Name
}

// covers reports whether h means every host that o does.
func (h Host) covers(o Host) bool {
	if !o.Wildcard {
		return h.Matches(o.Name, o.Port)
	}
	return h.Wildcard && h.Port == o.Port && (h.Name == o.Name || strings.HasSuffix(o.Name, "."+h.Name))
}
