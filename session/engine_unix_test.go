//go:build unix

package session

import (
	"context"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"testing"
	"time"

	"github.com/org/claude-sandbox/sandbox/runplan"
)

// An engine that is alive and stuck, as one with too much to do, is waited for, and the
// person is told.
func TestAStuckEngineIsTold(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "engine")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("API-Version", "1.41")
		if r.URL.Path != "/_ping" {
			<-r.Context().Done()
		}
	})}
	go server.Serve(listener) //nolint:errcheck // it is closed
	t.Cleanup(func() { server.Close() })
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	said := ""
	e, err := FittingEngine(ctx, &runplan.Plan{}, 10*time.Millisecond, func(sentence string) {
		said = sentence
		cancel()
	})
	if e != nil || !errors.Is(err, context.Canceled) || said != "waiting for the container engine to answer" {
		t.Errorf("%v, %v, says %q", e, err, said)
	}
}
