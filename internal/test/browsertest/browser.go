package browsertest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// timeout bounds every answer of the browser: it has crashed otherwise.
const timeout = 60 * time.Second

// Browser is a running browser. Its methods end the test on an error.
type Browser struct {
	t  testing.TB
	in io.Writer

	mu      sync.Mutex
	last    int
	answers map[int]chan answer
	events  func(session, method string, params json.RawMessage)
}

// answer is a message of the browser: the reply to a call, or an event.
type answer struct {
	ID        int             `json:"id"`
	Method    string          `json:"method"`
	SessionID string          `json:"sessionId"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

// Start starts a browser that ends with the test. Without one the test skips,
// or fails in CI.
func Start(t testing.TB) *Browser {
	t.Helper()
	testenv.Slow(t)
	// Debian's two packages, and what GitHub's runners have.
	program := ""
	for _, name := range []string{"chromium-headless-shell", "chromium", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		testenv.Missing(t, "chromium-headless-shell", "no browser is in PATH")
	}
	ours, theirs, err := pipes()
	if err != nil {
		t.Fatal(err)
	}
	// Tests run as root, where the browser's own sandbox does not start; it
	// opens nothing but our files.
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
		"--force-color-profile=srgb", "--remote-debugging-pipe", "--user-data-dir="+t.TempDir(), "about:blank")
	cmd.ExtraFiles = theirs[:] // descriptors 3 and 4, as the browser expects
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for _, f := range theirs {
		f.Close()
	}
	b := &Browser{t: t, in: ours[0], answers: map[int]chan answer{}}
	go b.listen(ours[1])
	t.Cleanup(func() {
		ours[0].Close() // the browser ends with its pipe
		kill := time.AfterFunc(10*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		kill.Stop()
		ours[1].Close()
	})
	return b
}

// pipes returns our ends, to write to and to read from, and the browser's.
func pipes() (ours, theirs [2]*os.File, err error) {
	if theirs[0], ours[0], err = os.Pipe(); err != nil {
		return ours, theirs, err
	}
	ours[1], theirs[1], err = os.Pipe()
	return ours, theirs, err
}

func (b *Browser) listen(from io.Reader) {
	r := bufio.NewReader(from)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var a answer
		if json.Unmarshal(text[:len(text)-1], &a) != nil {
			continue
		}
		b.mu.Lock()
		if a.ID != 0 {
			b.answers[a.ID] <- a
			delete(b.answers, a.ID)
		} else if b.events != nil {
			b.events(a.SessionID, a.Method, a.Params)
		}
		b.mu.Unlock()
	}
}

// call calls a method of the protocol; into receives its result unless nil.
func (b *Browser) call(session, method string, params map[string]any, into any) {
	b.t.Helper()
	reply := make(chan answer, 1)
	b.mu.Lock()
	b.last++
	id := b.last
	b.answers[id] = reply
	b.mu.Unlock()
	message := map[string]any{"id": id, "method": method, "params": params}
	if session != "" {
		message["sessionId"] = session
	}
	text, err := json.Marshal(message)
	if err == nil {
		_, err = b.in.Write(append(text, 0))
	}
	if err != nil {
		b.t.Fatalf("asking the browser for %s: %v", method, err)
	}
	select {
	case a := <-reply:
		if a.Error != nil {
			b.t.Fatalf("%s: %s", method, a.Error.Message)
		}
		if into != nil {
			if err := json.Unmarshal(a.Result, into); err != nil {
				b.t.Fatalf("%s answered %s: %v", method, a.Result, err)
			}
		}
	case <-time.After(timeout):
		b.t.Fatal(fmt.Errorf("the browser did not answer %s", method))
	}
}
