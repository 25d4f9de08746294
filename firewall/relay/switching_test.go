package relay_test

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Attack: a host that is in league with the program leaves HTTP without having been
// asked, so that all that follows passes unread. Judged by what arrives there.
func TestAttackOperationTheHostSwitchesProtocols(t *testing.T) {
	for name, head := range map[string]string{
		"to nothing":   "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"to an empty":  "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: \r\n\r\n",
		"to websocket": "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			heard := make(chan string, 1)
			h := newHost(t, []string{"http/1.1"}, func(w http.ResponseWriter, r *http.Request) {
				conn, both, err := w.(http.Hijacker).Hijack()
				if err != nil {
					t.Error(err)
					return
				}
				defer conn.Close()
				_, _ = io.WriteString(conn, head)
				rest, _ := io.ReadAll(both)
				heard <- string(rest)
			})
			b := newBox(t, h)
			c := b.dial("http/1.1")
			_, _ = io.WriteString(c, "GET /v1/a HTTP/1.1\r\nHost: ok.test\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil || response.StatusCode != http.StatusBadGateway {
				t.Errorf("%+v %v", response, err)
			}
			_, _ = io.WriteString(c, "GET "+secret+" HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n")
			_, _ = io.Copy(io.Discard, c)
			c.Close()
			if got := <-heard; strings.Contains(got, secret) {
				t.Errorf("arrived: %q", got)
			}
		})
	}
}
