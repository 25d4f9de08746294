package engine

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A removal that an engine cannot do at this moment is asked for again; any other failure is told.
func TestRemoveAsksAgain(t *testing.T) {
	for _, c := range []struct {
		message string
		passes  bool
	}{
		{
			`container c0: driver "overlay2" failed to remove root filesystem: unlinkat /var/lib/docker/overlay2/x/merged: ` +
				`device or resource busy`, true},
		{"removal of container c0 is already in progress", true},
		{"container state improper", true},
		{"permission denied", false},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/_ping"):
				w.Header().Set("Api-Version", "1.41")
			case r.Method != http.MethodDelete:
				t.Errorf("%s %s", r.Method, r.URL)
			case asked > 0:
				w.WriteHeader(http.StatusNotFound) // somebody else has removed it
				_ = json.NewEncoder(w).Encode(map[string]string{"message": "No such container: c0"})
			default:
				asked++
				w.WriteHeader(http.StatusInternalServerError)
				_ = json.NewEncoder(w).Encode(map[string]string{"message": c.message})
			}
		}))
		e, err := connect(t.Context(), candidate{host: "tcp://" + server.Listener.Addr().String()})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Remove(t.Context(), "c0"); (err == nil) != c.passes || asked != 1 {
			t.Errorf("%s: %v", c.message, err)
		}
		e.Close()
		server.Close()
	}
}
