package relay_test

import (
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// otherwise are h2spec's cases in which net/http does something else than the case wants,
// and nothing that harms.
var otherwise = []string{
	"Sends multiple values of SETTINGS_INITIAL_WINDOW_SIZE",                                        // it ends the connection
	"Sends a HEADERS frame that contains the connection-specific header field",                     // it answers 400
	`Sends a HEADERS frame that contains the TE header field with any value other than "trailers"`, // it answers 400
	// It may have answered by then: the stream ends with another code.
	"Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream",
}

// TestHTTP2ByTheBook has h2spec, a client that breaks each rule of RFC 7540 and 7541 in
// turn, speak to the relay.
func TestHTTP2ByTheBook(t *testing.T) {
	t.Parallel()
	h2spec := testenv.Program(t, "h2spec")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr).AddrPort()
	port := strconv.Itoa(int(addr.Port()))
	h := newHost(t, []string{"h2"}, nil, "localhost")
	newBoxAt(t, l, h, "localhost", addr, fmt.Sprintf("https://localhost:%s GET,HEAD,POST,OPTIONS /**", port))
	// The exit code is 1 for cases that fail. The limit is for a busy machine: a case that
	// fails waits so long.
	out, _ := exec.Command(h2spec, "--host", "localhost", "--port", port, "--tls", "--insecure", "--timeout", "10").CombinedOutput()
	if !regexp.MustCompile(`(?m)^14\d tests, `).Match(out) {
		t.Fatalf("no report:\n%s", out)
	}
	_, failures, _ := strings.Cut(string(out), "Failures:")
	for _, m := range regexp.MustCompile(`× \d+: (.*)`).FindAllStringSubmatch(failures, -1) {
		if !slices.Contains(otherwise, strings.TrimSpace(m[1])) {
			t.Errorf("%s\n%s", m[1], failures)
		}
	}
}
