package engine

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// Podman tells a client that attaches why a container does not start.
func TestAttachSaysWhyItIsRefused(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "/_ping"):
			w.Header().Set("Api-Version", "1.41")
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/v1.41/containers/c0/attach"):
			w.WriteHeader(http.StatusConflict)
			_, _ = w.Write([]byte(`{"cause":"x","message":"preparing container c0 for attach: no such device"}`))
		default:
			t.Errorf("%s %s", r.Method, r.URL)
		}
	}))
	defer server.Close()
	e, err := connect(t.Context(), candidate{host: "tcp://" + server.Listener.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := e.Attach(t.Context(), "c0", true, false); err == nil ||
		err.Error() != "attaching to container c0: preparing container c0 for attach: no such device" {
		t.Errorf("it says %v", err)
	}
}
