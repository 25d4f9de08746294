package relay_test

import (
	"io"
	"testing"
)

// FuzzHTTP1 sends any bytes to the relay: no request arrives that the entry does not
// allow.
func FuzzHTTP1(f *testing.F) {
	for _, seed := range []string{
		"GET /v1/a HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"POST /v1/a HTTP/1.1\r\nHost: ok.test\r\nContent-Length: 3\r\n\r\nabcGET /v2/secret HTTP/1.1\r\nHost: ok.test\r\n\r\n",
		"POST /v1/a HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n",
		"GET /v1/../v2 HTTP/1.1\nHost: ok.test\nX:\n y\n\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<12 {
			return
		}
		h := newHost(t, []string{"http/1.1"}, nil)
		conn := newBox(t, h).dial("http/1.1")
		go func() {
			_, _ = io.WriteString(conn, text+lastRequest)
			_ = conn.CloseWrite() // it may wait for more
		}()
		_, _ = io.Copy(io.Discard, conn)
		checkRequests(t, h, -1)
	})
}
