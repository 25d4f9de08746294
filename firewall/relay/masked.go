package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/firewall/operation"
)

// masked writes response heads without a key, informational ones too.
type masked struct {
	http.ResponseWriter
	key *credential.Key
}

func (m *masked) WriteHeader(status int) {
	maskFields(m.Header(), m.key)
	m.ResponseWriter.WriteHeader(status)
}

// Unwrap is for http.ResponseController.
func (m *masked) Unwrap() http.ResponseWriter { return m.ResponseWriter }

// sessions are fields in which hosts give a session or a token of the asking user, unasked: cookies;
// what libraries for JWT renew; and Spring's session. Requests with the key carry none of them, and
// elsewhere they would do what the key does.
var sessions = []string{"set-cookie", "set-cookie2", "authorization", "x-auth-token"}

// maskFields masks values, and leaves out sessions and fields whose name holds the key, also those
// that are announced.
func maskFields(h http.Header, key *credential.Key) {
	for field, values := range h {
		if slices.Contains(sessions, strings.ToLower(field)) || key.IsIn(field) || field == "Trailer" && key.IsIn(strings.Join(values, ",")) {
			delete(h, field)
			continue
		}
		for i, v := range values {
			values[i] = key.Redactor().String(v)
		}
	}
}

// maskBody masks a key in a body and in the trailers behind it. The length stays. A body
// that is compressed, which was not asked for, or in other bytes than ASCII's could hide it.
func maskBody(res *http.Response, key *credential.Key) error {
	for field, codings := range res.Header {
		// Protocols inside bodies have fields of their own for this, such as Grpc-Encoding.
		if strings.HasSuffix(field, "Encoding") && !strings.Contains(field, "Accept") && slices.ContainsFunc(codings, isCoding) {
			return errors.New("it is compressed, and a compressed answer was not asked for")
		}
	}
	if kind := strings.Join(res.Header["Content-Type"], ","); !operation.LikeASCII(kind) {
		return fmt.Errorf("it is in a set of characters that is not read here: %.100q", kind)
	}
	m := &maskedBody{body: res.Body, trailer: res.Trailer, key: key}
	m.clean = key.Redactor().Writer(&m.masked)
	res.Body = m
	return nil
}

// maskedChunk bounds the bytes of a body that are looked at together. Each stream holds some of them.
const maskedChunk = 32 << 10

// maskedBody is a body without the key. At its end the trailers are masked: until then they
// are somebody else's to write.
type maskedBody struct {
	body    io.ReadCloser
	trailer http.Header
	key     *credential.Key
	clean   io.WriteCloser // writes to masked
	masked  bytes.Buffer
	end     error
}

func (m *maskedBody) Read(p []byte) (int, error) {
	for m.masked.Len() == 0 && m.end == nil {
		n, err := m.body.Read(p[:min(len(p), maskedChunk)])
		_, _ = m.clean.Write(p[:n]) // a Buffer takes all
		if errors.Is(err, io.EOF) {
			_ = m.clean.Close()
			maskFields(m.trailer, m.key)
		}
		m.end = err
	}
	if m.masked.Len() > 0 {
		return m.masked.Read(p)
	}
	return 0, m.end
}

func (m *maskedBody) Close() error { return m.body.Close() }

func isCoding(coding string) bool { return coding != "" && !strings.EqualFold(coding, "identity") }
