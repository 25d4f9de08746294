package relay_test

import (
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/org/claude-sandbox/firewall/credential"
)

// A registry gives tokens for a user's key, as Docker Hub and ghcr.io do, and takes nothing else: a
// client that has no credential pulls a private image, and the key goes for tokens alone.
func TestKeyForAPrivateImage(t *testing.T) {
	for _, protocol := range protocols() {
		const token = "token-for-pulling"
		images := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
		var mu sync.Mutex
		var with []string
		h := newHost(t, []string{protocol}, func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password == canary {
				mu.Lock()
				with = append(with, r.URL.Path)
				mu.Unlock()
				if r.URL.Path == "/token" {
					_ = json.NewEncoder(w).Encode(map[string]string{"token": token})
					return
				}
			}
			if r.Header.Get("Authorization") != "Bearer "+token {
				w.Header().Set("WWW-Authenticate", `Bearer realm="https://ok.test/token",service="ok.test"`)
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			images.ServeHTTP(w, r)
		})
		b := newBox(t, h, "oci:ok.test read")
		b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: "oci:ok.test read", As: "basic:me"})
		image, err := random.Image(1000, 2)
		if err != nil {
			t.Fatal(err)
		}
		open := httptest.NewServer(images)
		defer open.Close()
		there, err := name.ParseReference(strings.TrimPrefix(open.URL, "http://") + "/acme/private:1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(there, image); err != nil {
			t.Fatal(err)
		}
		ref, err := name.ParseReference("ok.test/acme/private:1")
		if err != nil {
			t.Fatal(err)
		}
		pulled, err := remote.Image(ref, remote.WithTransport(b.client(protocol).Transport))
		if err != nil {
			t.Fatalf("%s: %v\n%q", protocol, err, h.requests())
		}
		want, _ := image.Digest()
		if got, err := pulled.Digest(); got != want || err != nil {
			t.Error(got, err)
		}
		layers, err := pulled.Layers()
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			from, err := l.Compressed()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, from); err != nil {
				t.Error(err)
			}
			from.Close()
		}
		mu.Lock()
		if got := strings.Join(slices.Compact(slices.Sorted(slices.Values(with))), " "); got != "/token /v2/" {
			t.Errorf("%s: the key came to %s", protocol, got)
		}
		mu.Unlock()
	}
}

// Attack: the agent asks the host at which a registry's operator has others keep its files. It
// gets no key, with which it has nothing to do.
func TestAttackKeyAtTheHostOfARegistrysFiles(t *testing.T) {
	for entry, files := range map[string]string{
		"oci:ghcr.io read": "pkg-containers.githubusercontent.com", "oci:quay.io read": "cdn01.quay.io",
		"oci:read": "production.cloudflare.docker.com",
	} {
		var mu sync.Mutex
		var came []http.Header
		h := newHost(t, []string{"http/1.1"}, func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			came = append(came, r.Header)
		}, files)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		b := newBoxAt(t, l, h, files, netip.MustParseAddrPort("192.0.2.1:443"), entry)
		b.withKeys(map[string]string{"K": canary}, credential.Binding{Name: "K", For: entry, As: "header:X-Mine"})
		res, err := b.client("http/1.1").Get("https://" + files + "/ghcr1/blobs/sha256:" + strings.Repeat("0", 64) + "?sig=1")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		mu.Lock()
		if len(came) != 1 || came[0].Get("X-Mine") != "" {
			t.Errorf("%s: %d %v", files, res.StatusCode, came)
		}
		mu.Unlock()
	}
}
