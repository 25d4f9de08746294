package imagebuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/npm"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/store"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// program is the head of a Linux program for an architecture.
func program(arch string) string {
	machine := map[string]string{"amd64": "\x3e", "arm64": "\xb7"}[arch]
	return "\x7fELF\x02\x01\x01" + strings.Repeat("\x00", 9) + "\x02\x00" + machine + "\x00" + strings.Repeat("\x00", 64)
}

// packFiles writes a tar of files; names ending in / are folders.
func packFiles(t testing.TB, headers []tar.Header, contents map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, h := range headers {
		h.Size = int64(len(contents[h.Name]))
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o755
		}
		if err := tw.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(tw, contents[h.Name]); err != nil {
			t.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// rootfs writes the root file system of a small base and returns its path.
func rootfs(t testing.TB, arch string) string {
	t.Helper()
	contents := map[string]string{
		"etc/passwd": "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/bash\n",
		"etc/group":  "root:x:0:\nshadow:x:42:\nnode:x:1000:\nsudo:x:27:node,root\n",
		"etc/shadow": "root:*:1::::::\nnode:secret:1::::::\n",
		"var/lib/dpkg/status": "Package: bash\nStatus: install ok installed\nMaintainer: A <a@example.com>\nArchitecture: " + arch +
			"\nVersion: 5.2-1+b2\n\n" +
			"Package: gone\nStatus: deinstall ok config-files\nArchitecture: " + arch + "\nVersion: 1\n\n" +
			"Package: iptables\nStatus: install ok installed\nArchitecture: " + arch + "\nVersion: 1:1.8.9-2\nDescription: rules\n for packets\n",
		"usr/bin/su": "the program su",
	}
	headers := []tar.Header{
		{Name: "bin", Typeflag: tar.TypeSymlink, Linkname: "usr/bin"},
		{Name: "etc/passwd", Mode: 0o644}, {Name: "etc/group", Mode: 0o644}, {Name: "etc/shadow", Mode: 0o640},
		{Name: "var/lib/dpkg/status", Mode: 0o644}, {Name: "usr/bin/su", Mode: 0o4755},
	}
	for _, name := range []string{"usr/sbin/iptables", "usr/sbin/ip6tables", "usr/sbin/ipset", "usr/bin/bash", "usr/bin/sh"} {
		contents[name] = arch + name
		headers = append(headers, tar.Header{Name: name})
	}
	file := filepath.Join(t.TempDir(), arch+".tar")
	if err := os.WriteFile(file, packFiles(t, headers, contents), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// claudeTarball is a tarball as npm publishes it, with a small program.
func claudeTarball(t testing.TB, name, version, arch string) []byte {
	t.Helper()
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	_, err := zw.Write(packFiles(t, []tar.Header{{Name: "package/claude"}, {Name: "package/package.json", Mode: 0o644}}, map[string]string{
		"package/claude":       program(arch) + version,
		"package/package.json": fmt.Sprintf(`{"name":%q,"version":%q}`, name, version),
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := zw.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// npmServer publishes version 2.1.329; edit may change what it serves.
func npmServer(t testing.TB, edit func(path string, body []byte) []byte) string {
	t.Helper()
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for npmArch, arch := range map[string]string{"x64": "amd64", "arm64": "arm64"} {
			name := "@anthropic-ai/claude-code-linux-" + npmArch
			file := claudeTarball(t, name, "2.1.329", arch)
			sum := sha512.Sum512(file)
			registry := npm.Registry{URL: server.URL}
			var body []byte
			switch server.URL + r.URL.Path {
			case server.URL + "/" + name + "/latest", server.URL + "/" + name + "/2.1.329":
				body, _ = json.Marshal(map[string]any{"name": name, "version": "2.1.329", "dist": map[string]string{
					"integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]), "tarball": registry.TarballURL(name, "2.1.329"),
				}})
			case registry.TarballURL(name, "2.1.329"):
				body = file
			default:
				continue
			}
			if edit != nil {
				body = edit(r.URL.Path, body)
			}
			_, _ = w.Write(body)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// offline are credentials and a client that wait for nothing.
func offline() registry.Options {
	o := registry.Real(registry.Credentials{Getenv: func(string) string { return "" }}, nil)
	o.Sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return o
}

// smallInit stands for sbx-init where its content does not matter: packing the
// real one takes a second.
func smallInit(arch string) ([]byte, error) { return []byte(program(arch) + "init"), nil }

// testMaterials has a cache of its own and a small sbx-init.
func testMaterials(t testing.TB, npmURL string) Materials {
	t.Helper()
	s, err := store.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return Materials{
		Store: s, NPM: npm.Registry{URL: npmURL, HTTP: http.DefaultClient}, Registry: offline(), Init: smallInit,
		Notice: func(string, ...any) {},
	}
}

// testLock locks a small base and a small Claude Code for two platforms.
func testLock(t testing.TB, m Materials) lock.Lock {
	t.Helper()
	l, err := MakeLock(context.Background(), m, LockOptions{
		Bases:      []string{"linux/amd64=rootfs:" + rootfs(t, "amd64"), "linux/arm64=rootfs:" + rootfs(t, "arm64")},
		SourceDate: time.Unix(1_700_000_000, 0),
	})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func testSpec(t testing.TB, m Materials) Spec {
	return Spec{Lock: testLock(t, m), Policy: []byte(`{"network":{"mode":"none"}}`),
		About: About{Title: "sandbox", Version: "1.2.3", Revision: "abc", Source: "https://example.com/r", Licenses: "Apache-2.0"}}
}

// carriedInit is the real sbx-init.
func carriedInit(t testing.TB) func(string) ([]byte, error) {
	t.Helper()
	if _, err := carried.Init("arm64"); err != nil {
		testenv.Missing(t, "carried sbx-init", "run scripts/build first")
	}
	return carried.Init
}
