package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"path"
	"sync"
)

// largeFiles is a server of git-lfs: its batch API, and the objects at the same host.
type largeFiles struct {
	mu      sync.Mutex
	objects map[string][]byte // by SHA-256
}

func (l *largeFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/vnd.git-lfs+json")
	switch name := path.Base(r.URL.Path); {
	case name == "verify":
		_, _ = io.WriteString(w, `{"ours": [], "theirs": []}`)
	case name == "batch":
		l.batch(w, r)
	case r.Method == http.MethodPut:
		data, err := io.ReadAll(r.Body)
		if sum := sha256.Sum256(data); err != nil || hex.EncodeToString(sum[:]) != name {
			http.Error(w, "another object", http.StatusBadRequest)
			return
		}
		l.mu.Lock()
		l.objects[name] = data
		l.mu.Unlock()
	default:
		l.mu.Lock()
		data := l.objects[name]
		l.mu.Unlock()
		_, _ = w.Write(data)
	}
}

func (l *largeFiles) batch(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Operation string
		Objects   []struct {
			OID  string
			Size int
		}
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil {
		http.Error(w, "no batch", http.StatusBadRequest)
		return
	}
	objects := []any{}
	for _, o := range request.Objects {
		href := "https://ok.test" + path.Join(path.Dir(r.URL.Path), o.OID)
		objects = append(objects, map[string]any{"oid": o.OID, "size": o.Size, "authenticated": true,
			"actions": map[string]any{request.Operation: map[string]any{"href": href}}})
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"transfer": "basic", "objects": objects})
}

func (l *largeFiles) count() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.objects)
}
