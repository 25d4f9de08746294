//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rootlessSocket is the address of the engine, which says there that it does not run as root.
func rootlessSocket(t *testing.T) (address string) {
	t.Helper()
	real, ok := strings.CutPrefix(os.Getenv("DOCKER_HOST"), "unix://")
	if !ok {
		real = "/var/run/docker.sock"
	}
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "engine"})
	proxy.Transport = &http.Transport{Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", real) }}
	proxy.FlushInterval = -1
	proxy.ModifyResponse = func(r *http.Response) error {
		if !strings.HasSuffix(r.Request.URL.Path, "/info") {
			return nil
		}
		info := map[string]any{}
		if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
			return err
		}
		info["SecurityOptions"] = []string{"name=seccomp,profile=default", "name=rootless"}
		text, err := json.Marshal(info)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Del("Content-Length")
		return err
	}
	socket := filepath.Join(t.TempDir(), "engine")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: proxy}
	go server.Serve(listener) //nolint:errcheck // it is closed
	t.Cleanup(func() { server.Close() })
	return "unix://" + socket
}

// A Docker without root cannot let the agent write to the project's folder. A run that asks
// for nothing else works on a clone there and says so in one line; one that asks for the
// folder is refused.
func TestARunOnADockerWithoutRootWorksOnAClone(t *testing.T) {
	r := prepareCommitting(t, `echo two >>sub/a.txt && git commit -qam two`)
	r.Env = append(r.Env, "DOCKER_HOST="+rootlessSocket(t))
	r.begin(t, "x")
	if code, said := endOf(t, r.programRun), r.said(t); code != exitOK || strings.Count(said, "which does not run as root") != 1 {
		t.Errorf("it ends with %d: %s", code, said)
	}
	if status := r.git(t, r.project, "status", "--short"); status != "" {
		t.Errorf("the project has\n%s", status)
	}
	if code, out, said := r.shell(t, r.project, "sbx-devc apply"); code != exitOK {
		t.Errorf("apply ends with %d: %s%s", code, out, said)
	}
	if code, _, said := r.shell(t, r.project, "sbx-devc run -p 'do it' --workspace bind"); code != exitUnavailable ||
		!strings.Contains(said, "--workspace clone") {
		t.Errorf("the folder itself: %d, %s", code, said)
	}
}
