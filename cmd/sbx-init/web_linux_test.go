package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/org/claude-sandbox/internal/fakeapi"
	"github.com/org/claude-sandbox/internal/test/outsidetest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// web is what real clients ask of ok.test: pages, a git repository, packages
// of npm, Python and Go, WebSocket, and the model's API.
type web struct {
	*internet
	ca    string // file with the authority that signed its certificate
	model *fakeapi.Server
	hub   *hub
	large *largeFiles

	repositories string // the folder with those of git
}

// newWeb makes in answer HTTPS for every name, with a certificate for ok.test
// and evil.test, and what web's comment says over both HTTP and HTTPS.
func newWeb(t testing.TB, in *internet) *web {
	t.Helper()
	w := &web{internet: in, ca: filepath.Join(t.TempDir(), "ca.pem"), model: &fakeapi.Server{
		Script: fakeapi.Script{Final: "through the guard"},
	}, hub: newHub(), large: &largeFiles{objects: map[string][]byte{}}}
	certificate, authority, err := certify("ok.test", "evil.test")
	if err == nil {
		err = errors.Join(os.WriteFile(w.ca, authority, 0o644), os.Chmod(filepath.Dir(w.ca), 0o755),
			os.Chmod(filepath.Dir(filepath.Dir(w.ca)), 0o755))
	}
	if err != nil {
		t.Fatal(err)
	}
	in.mu.Lock()
	in.pages = w.mux(t)
	in.mu.Unlock()
	var l net.Listener
	in.Internet.Do(func() { l, err = net.Listen("tcp", ":443") })
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{
		Handler:  in.Noting(http.HandlerFunc(in.serveHTTP)),
		ErrorLog: log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate},
			GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
				in.Add(outsidetest.Request{At: h.Conn.LocalAddr().String(), Host: h.ServerName})
				return nil, nil
			}},
	}
	t.Cleanup(func() { server.Close() })
	go server.ServeTLS(l, "", "")
	return w
}

// certify returns a certificate for the names and its authority in PEM.
func certify(names ...string) (tls.Certificate, []byte, error) {
	var none tls.Certificate
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, nil, err
	}
	ca := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	ca.Subject.CommonName = "made-up authority"
	caDER, err := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	if err != nil {
		return none, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return none, nil, err
	}
	leaf := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: ca.NotBefore, NotAfter: ca.NotAfter, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	leafDER, err := x509.CreateCertificate(rand.Reader, leaf, ca, &key.PublicKey, caKey)
	if err != nil {
		return none, nil, err
	}
	return tls.Certificate{Certificate: [][]byte{leafDER, caDER}, PrivateKey: key},
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), nil
}

const fileMarker = "made in the made-up internet"

func (w *web) mux(t testing.TB) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(out http.ResponseWriter, r *http.Request) { fmt.Fprintln(out, fileMarker, r.Proto) })
	mux.HandleFunc("/ws", serveWebSocket)
	mux.Handle("/model/", http.StripPrefix("/model", w.model))
	repositories, dir := gitBackend(t)
	w.repositories = dir
	mux.Handle("/repo.git/", repositories)
	mux.Handle("/acme/", repositories)
	mux.Handle("/evil/", repositories)
	mux.Handle("/acme/{repository}/info/lfs/", w.large)
	mux.HandleFunc("/api/v3/", w.hub.rest)
	mux.HandleFunc("/api/graphql", w.hub.graphql)
	mux.Handle("/v2/", imageRegistry(t))
	mux.Handle("/test.Talk/", grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		return stream.SendMsg(wrapperspb.String(fileMarker))
	})))

	module := zipped(map[string]string{"ok.test/mod@v1.0.0/go.mod": "module ok.test/mod\n",
		"ok.test/mod@v1.0.0/mod.go": "package mod // " + fileMarker + "\n"})
	wheel := zipped(map[string]string{"demo.py": "print('" + fileMarker + "')\n",
		"demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
		"demo-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"demo-1.0.dist-info/RECORD":   ""})
	crate := packed(map[string]string{"demo-1.0.0/Cargo.toml": "[package]\nname = \"demo\"\nversion = \"1.0.0\"\n",
		"demo-1.0.0/src/lib.rs": "// " + fileMarker + "\n"})
	tarball := packed(map[string]string{"package/package.json": `{"name": "demo", "version": "1.0.0"}`,
		"package/index.js": "// " + fileMarker + "\n"})
	sum := sha512.Sum512(tarball)
	for path, body := range map[string]string{
		"/go/ok.test/mod/@v/v1.0.0.info":         `{"Version": "v1.0.0", "Time": "2024-01-01T00:00:00Z"}`,
		"/go/ok.test/mod/@v/v1.0.0.mod":          "module ok.test/mod\n",
		"/go/ok.test/mod/@v/v1.0.0.zip":          string(module),
		"/simple/demo/":                          `<!DOCTYPE html><a href="demo-1.0-py3-none-any.whl">demo-1.0-py3-none-any.whl</a>`,
		"/simple/demo/demo-1.0-py3-none-any.whl": string(wheel),
		"/npm/demo": `{"name": "demo", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {"name": "demo", "version": "1.0.0", "dist": {
			"tarball": "https://ok.test/npm/demo.tgz", "integrity": "sha512-` + base64.StdEncoding.EncodeToString(sum[:]) + `"}}}}`,
		"/npm/demo.tgz":       string(tarball),
		"/crates/config.json": `{"dl": "https://ok.test/crates/crates", "api": "https://ok.test/crates"}`,
		"/crates/de/mo/demo": fmt.Sprintf(
			`{"name": "demo", "vers": "1.0.0", "deps": [], "cksum": "%x", "features": {}, "yanked": false}`, sha256.Sum256(crate)),
		"/crates/crates/demo/1.0.0/download": string(crate),
		"/maven/test/ok/parent/1/parent-1.pom": `<project><modelVersion>4.0.0</modelVersion><groupId>test.ok</groupId>` +
			`<artifactId>parent</artifactId>
			<version>1</version><packaging>pom</packaging><description>` + fileMarker + `</description></project>`,
	} {
		mux.HandleFunc(path, func(out http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(path, "/") {
				out.Header().Set("Content-Type", "text/html")
			}
			_, _ = io.WriteString(out, body)
		})
	}
	return mux
}

// serveWebSocket answers the handshake and then sends back what it gets. What
// flows is the client's affair: the guard does not read it.
func serveWebSocket(out http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		http.Error(out, "no WebSocket", http.StatusBadRequest)
		return
	}
	conn, rw, err := http.NewResponseController(out).Hijack()
	if err != nil {
		return
	}
	defer conn.Close()
	accept := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) // RFC 6455 section 1.3
	fmt.Fprintf(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		base64.StdEncoding.EncodeToString(accept[:]))
	if rw.Flush() == nil {
		_, _ = io.Copy(conn, rw)
	}
}

// gitBackend serves bare repositories in dir, each with one commit, by git's own program.
func gitBackend(t testing.TB) (handler http.Handler, dir string) {
	t.Helper()
	git := testenv.Program(t, "git")
	dir = t.TempDir()
	script := `set -e; cd "$0"; git init -q -b main work; cd work; echo "` + fileMarker + `" >file; git add file
		git -c user.name=n -c user.email=e@test commit -qm one; git clone -q --bare . ../repo.git; cd ../repo.git; ` +
		`git config http.receivepack true
		for name in acme/app acme/docs evil/app; do mkdir -p ../${name%/*}; cp -r . ../$name.git; done; git --exec-path`
	cmd := exec.Command("sh", "-c", script, dir)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("making a repository with %s: %v", git, err)
	}
	return &cgi.Handler{
		Path: filepath.Join(strings.TrimSpace(string(out)), "git-http-backend"),
		Env:  []string{"GIT_PROJECT_ROOT=" + dir, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"},
	}, dir
}

// imageRegistry is a registry of images with one image in it, made-up:1.
func imageRegistry(t testing.TB) http.Handler {
	t.Helper()
	handler := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(handler)
	defer server.Close()
	image, err := random.Image(1024, 1)
	if err == nil {
		var tag name.Tag
		if tag, err = name.NewTag(strings.TrimPrefix(server.URL, "http://") + "/made-up:1"); err == nil {
			err = remote.Write(tag, image)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func zipped(files map[string]string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
		f, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(f, text)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// packed is a compressed tar archive.
func packed(files map[string]string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	for name, text := range files {
		err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text)), Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			panic(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}
