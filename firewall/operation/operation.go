package operation

import (
	"net/http"
)

// Request is the head of a request as it was read inside the opened TLS.
type Request struct {
	Host   string // canonical: the name of the certificate that the client accepted, and of its Host or :authority
	Port   uint16
	Method string // as sent; methods are case-sensitive
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

// matches reports whether the canonical name and port are h's.
func (h Host) matches(name string, port uint16) bool {
	if port != h.Port {
		return false
	}
	if !h.Wildcard {
		return name == h.Name
	}
	n := len(name) - len(h.Name)
	return n > 1 && name[n-1] == '.' && name[n:] == h.Name
}
