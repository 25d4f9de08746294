package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestAttackARegistryIsToldAVariableOfTheHost: a repository that is only looked
// at says which registry is asked, and for what.
func TestAttackARegistryIsToldAVariableOfTheHost(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.URL.Path)
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	registry := strings.TrimPrefix(server.URL, "http://")
	t.Setenv("A_SECRET", "sk-of-the-host")
	for name, test := range map[string]struct {
		files map[string]string
		asks  bool
	}{
		"image": {map[string]string{"devcontainer.json": `{"image": "REGISTRY/x:${localEnv:A_SECRET}"}`}, false},
		"argument": {map[string]string{"devcontainer.json": `{"build": {"dockerfile": "Dockerfile", "args": {"K": "${localEnv:A_SECRET}"}}}`,
			"Dockerfile": "ARG K\nFROM REGISTRY/x:$K\n"}, false},
		"service": {map[string]string{"devcontainer.json": `{"dockerComposeFile": "c.yml", "service": "a"}`,
			"c.yml": "services: {a: {image: 'REGISTRY/x:${A_SECRET}'}}"}, false},
		"built": {map[string]string{"devcontainer.json": `{"dockerComposeFile": "c.yml", "service": "a"}`,
			"c.yml": "services: {a: {build: {context: ., args: {K: '${A_SECRET}'}}}}", "Dockerfile": "ARG K\nFROM REGISTRY/x:$K\n"}, false},
		"host's": {map[string]string{"devcontainer.json": `{"dockerComposeFile": "c.yml", "service": "a"}`,
			"c.yml": "services: {a: {build: {context: ., args: [A_SECRET]}}}", "Dockerfile": "ARG A_SECRET\nFROM REGISTRY/x:$A_SECRET\n"}, true},
		"default": {map[string]string{"devcontainer.json": `{"image": "REGISTRY/x:${localEnv:SBX_NOT_SET:v1}"}`}, true},
		"plain":   {map[string]string{"devcontainer.json": `{"image": "REGISTRY/x:v1", "containerEnv": {"K": "${localEnv:A_SECRET}"}}`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range test.files {
				if err := os.WriteFile(filepath.Join(dir, ".devcontainer", file),
					[]byte(strings.ReplaceAll(text, "REGISTRY", registry)), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			asked = nil
			var said bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &said, stderr: io.Discard, getenv: func(string) string { return "" }}
			if code := a.main(t.Context(), []string{"effective", "--online", dir}); code != 0 {
				t.Fatalf("effective ends with %d", code)
			}
			if told := strings.Join(asked, " "); strings.Contains(told, "sk-of-the-host") {
				t.Errorf("the registry was asked for %s", told)
			}
			if (len(asked) > 0) != test.asks {
				t.Errorf("the registry was asked for %q; %s", asked, &said)
			}
		})
	}
}
