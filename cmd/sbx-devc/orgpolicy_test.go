package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
)

// publishedPolicy is an organisation's policy in a registry, by its digest, and how often the
// registry is asked.
func publishedPolicy(t *testing.T, text string) (ref string, asked *atomic.Int64) {
	t.Helper()
	asked = new(atomic.Int64)
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	image, err := mutate.AppendLayers(empty.Image, static.NewLayer([]byte(text), "application/vnd.example.policy"))
	if err != nil {
		t.Fatal(err)
	}
	var digest v1.Hash
	repository := strings.TrimPrefix(server.URL, "http://") + "/policy"
	tag, err := name.ParseReference(repository + ":1")
	if err == nil {
		err = remote.Write(tag, image)
	}
	if err == nil {
		digest, err = image.Digest()
	}
	if err != nil {
		t.Fatal(err)
	}
	asked.Store(0)
	return repository + "@" + digest.String(), asked
}

// An organisation's policy comes from a registry by its digest, by a flag or by the project's
// sbx-devc.jsonc. An editor that opens the project asks no registry for it.
func TestPolicyFromARegistry(t *testing.T) {
	ref, asked := publishedPolicy(t, `{"properties": {"forbid": ["privileged"]}}`)
	dir := t.TempDir()
	config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	const src = `{"image": "debian:13", "privileged": true}`
	err := errors.Join(os.Mkdir(filepath.Join(dir, ".git"), 0o755), os.Mkdir(filepath.Dir(config), 0o755),
		os.WriteFile(config, []byte(src), 0o644))
	if err != nil {
		t.Fatal(err)
	}
	run := func(stdin string, args ...string) (code int, out string) {
		var stdout, stderr bytes.Buffer
		a := &app{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr, getenv: func(string) string { return "" }}
		code = a.main(t.Context(), args)
		return code, stdout.String() + stderr.String()
	}
	if code, out := run("", "validate", "--policy", ref, dir); code != 1 || !strings.Contains(out, "SBX416") || asked.Load() == 0 {
		t.Errorf("by a flag: exit %d after %d requests: %s", code, asked.Load(), out)
	}
	wrong := ref[:len(ref)-4] + "0000"
	if code, out := run("", "validate", "--policy", wrong, dir); code != 3 || strings.Contains(out, "SBX") {
		t.Errorf("a digest that is not there: exit %d: %s", code, out)
	}
	choice, err := json.Marshal(map[string]any{"validate": map[string]any{"policy": ref}})
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "sbx-devc.jsonc"), choice, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	if code, out := run("", "validate", dir); code != 1 || !strings.Contains(out, "SBX416") {
		t.Errorf("by the project's file: exit %d: %s", code, out)
	}

	asked.Store(0)
	session := ""
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}`,
		fmt.Sprintf(
			`{"jsonrpc":"2.0","method":"textDocument/didOpen","params":{"textDocument":{"uri":"file://%s",`+
				`"languageId":"jsonc","version":1,"text":%q}}}`,
			filepath.ToSlash(config), src),
		fmt.Sprintf(
			`{"jsonrpc":"2.0","id":3,"method":"textDocument/hover","params":{"textDocument":{"uri":"file://%s"},`+
				`"position":{"line":0,"character":1}}}`,
			filepath.ToSlash(config)), // an answer rests on findings
		`{"jsonrpc":"2.0","id":2,"method":"shutdown"}`, `{"jsonrpc":"2.0","method":"exit"}`,
	} {
		session += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(message), message)
	}
	code, out := run(session, "lsp")
	if code != 0 || !strings.Contains(out, "SBX402") || strings.Contains(out, "SBX416") || asked.Load() != 0 {
		t.Errorf("an editor: exit %d after %d requests: %s", code, asked.Load(), out)
	}
}
