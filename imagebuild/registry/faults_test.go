package registry

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	reg "github.com/org/claude-sandbox/internal/test/registrytest"
)

// Faults of registries that pass in a moment. Each push must succeed, and what
// arrived must be whole.
func TestPassingFaultsArePassed(t *testing.T) {
	f := reg.StartFaulty(t)
	blobPut, manifestPut := reg.Request("PUT", "/blobs/uploads/"), reg.Request("PUT", "/manifests/")
	const unknownUpload = `{"errors":[{"code":"BLOB_UPLOAD_UNKNOWN","message":"blob upload unknown to registry"}]}`
	wrongDigest := func(h http.Header, body []byte) []byte {
		h.Set("Docker-Content-Digest", "sha256:"+strings.Repeat("0", 64))
		return body
	}
	gaveUp := make(chan struct{})
	var once sync.Once
	hang := func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
		_, _ = io.CopyN(io.Discard, r.Body, 1000)
		<-gaveUp
		panic(http.ErrAbortHandler)
	}
	for _, c := range []struct {
		name  string
		fault reg.Fault
		pause time.Duration // that must have been kept; 0 = any
	}{
		{"429 with Retry-After in seconds",
			reg.Times(3, reg.Request("POST", "/blobs/uploads/"), reg.Answer(429, map[string]string{"Retry-After": "7"}, "")), 7 * time.Second},
		{"429 as ghcr.io words it",
			reg.Times(2, manifestPut,
				reg.Answer(429, nil, `{"errors":[{"code":"TOOMANYREQUESTS","message":"retry-after: 12.5ms, allowed: 2000/minute"}]}`)),
			12500 * time.Microsecond},
		{"429 at login", reg.Times(2, func(r *http.Request) bool { return r.URL.Path == "/v2/" }, reg.Answer(429, nil, "")), 0},
		{"403 that is a rate limit",
			reg.Times(2, manifestPut, reg.Answer(403, nil, `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes"}`)),
			time.Minute},
		{"403 to HEAD that is a rate limit", reg.Times(8, func(r *http.Request) bool {
			return (r.Method == "HEAD" || r.Method == "GET") && strings.Contains(r.URL.Path, "/blobs/sha256:")
		}, reg.Answer(403, nil, `You have exceeded a secondary rate limit`)), time.Minute},
		{"404 for an upload that was opened", reg.Times(2, blobPut, reg.Answer(404, nil, unknownUpload)), 0},
		{"404 for an upload that was committed", reg.Times(2, blobPut, reg.After(reg.Answer(404, nil, unknownUpload))), 0},
		{"404 for a blob that is there",
			reg.Times(2, manifestPut,
				reg.Answer(404, nil, `{"errors":[{"code":"MANIFEST_BLOB_UNKNOWN","message":"blob unknown to registry"}]}`)), 0},
		{"400 upload invalid", reg.Times(2, blobPut, reg.Answer(400, nil, `{"errors":[{"code":"BLOB_UPLOAD_INVALID"}]}`)), 0},
		{"500", reg.Times(2, manifestPut, reg.Answer(500, nil, "")), 0},
		{"502 with a page", reg.Times(3, blobPut, reg.Answer(502, nil, "<html>Bad Gateway</html>")), 0},
		{"503", reg.Times(3, reg.Request("POST", ""), reg.Answer(503, map[string]string{"Retry-After": "2"}, "")), 2 * time.Second},
		{"504 after the work was done", reg.Times(3, manifestPut, reg.After(reg.Answer(504, nil, ""))), 0},
		{"499", reg.Times(1, blobPut, reg.Answer(499, nil, "")), 0},
		{"connection dropped inside a blob", reg.Times(3, blobPut, reg.Drop(64<<10)), 0},
		{"connection dropped after a blob", reg.Times(3, blobPut, reg.After(reg.Drop(0))), 0},
		{"connection dropped at HEAD", reg.Times(3, reg.Request("HEAD", "/"), reg.Drop(0)), 0},
		{"connection dropped at login", reg.Times(1, func(r *http.Request) bool { return r.URL.Path == "/v2/" }, reg.Drop(0)), 0},
		{"upload that stands still", reg.Times(1, blobPut, hang), 0},
		{"answer cut off when read back", reg.Times(2, reg.Request("GET", "/manifests/sha256:"), reg.Cut(20)), 0},
		{"another manifest when read back",
			reg.Times(2, reg.Request("GET", "/manifests/sha256:"), reg.Change(func(h http.Header, body []byte) []byte {
				h.Set("Content-Length", fmt.Sprint(len(body)+1))
				return append(body, ' ')
			})), 0},
		{"wrong digest acknowledged", reg.Times(2, manifestPut, reg.Change(wrongDigest)), 0},
		{"wrong digest of a blob acknowledged", reg.Times(2, blobPut, reg.Change(wrongDigest)), 0},
		{"manifest not yet known everywhere",
			reg.Times(2, reg.Request("GET", "/manifests/sha256:"), reg.Answer(404, nil, `{"errors":[{"code":"MANIFEST_UNKNOWN"}]}`)), 0},
		{"old digest of a tag just written",
			afterPut("/manifests/latest", reg.Times(2, reg.Request("HEAD", "/manifests/latest"), reg.Change(wrongDigest))), 0},
		{"one request in seven fails", oneInSeven(), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := "faults/" + strings.ReplaceAll(strings.ToLower(strings.Map(alphanumeric, c.name)), " ", "-")
			f.Set(c.fault)
			defer f.Set(nil)
			var pauses []time.Duration
			var mu atomic.Bool // pauses of parallel uploads: one at a time is enough to know
			o := options(nil)
			o.Notice = func(text string) {
				if strings.Contains(text, "_state=") {
					t.Errorf("the registry's state is in what people read: %s", text)
				}
			}
			o.Sleep = func(ctx context.Context, d time.Duration) error {
				for !mu.CompareAndSwap(false, true) {
				}
				pauses = append(pauses, d)
				mu.Store(false)
				if c.name == "upload that stands still" {
					once.Do(func() { close(gaveUp) })
				}
				return ctx.Err()
			}
			client, err := Dial(context.Background(), f.Addr+"/"+repo, true, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			a := sample(t, 1)
			report, err := Push(context.Background(), client, a, pushOptions(t, a))
			if err != nil {
				t.Fatal(err)
			}
			if len(pauses) == 0 {
				t.Error("the fault was not met")
			} else if c.pause > 0 && pauses[0] < c.pause {
				t.Errorf("waited %s, was asked to wait %s", pauses[0], c.pause)
			}
			found := expectWhole(t, f.Real+"/"+repo)
			if len(found) != 2 || found["latest"] != a.Index.Digest || report.Digest != a.Index.Digest {
				t.Errorf("the registry has %v", found)
			}
		})
	}
}

func alphanumeric(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == ' ' {
		return r
	}
	return -1
}

// afterPut lets a fault begin when something was written.
func afterPut(path string, fault reg.Fault) reg.Fault {
	var written atomic.Bool
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method == "PUT" && strings.HasSuffix(r.URL.Path, path) {
			written.Store(true)
		}
		return written.Load() && fault(w, r, next)
	}
}

func oneInSeven() reg.Fault {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(7, 7))
	answer := reg.Answer(503, nil, "")
	return func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		mu.Lock()
		hit := random.IntN(7) == 0
		mu.Unlock()
		return hit && answer(w, r, next)
	}
}

// A fault that lasts must end in a clear error, without a tag that moved.
func TestLastingFaultsMoveNoTag(t *testing.T) {
	f := reg.StartFaulty(t)
	always := func(match func(*http.Request) bool, fault reg.Fault) reg.Fault { return reg.Times(1<<30, match, fault) }
	blobPut, manifestPut := reg.Request("PUT", "/blobs/uploads/"), reg.Request("PUT", "/manifests/sha256")
	for i, c := range []struct {
		name  string
		fault reg.Fault
		want  error
		hint  string
	}{
		{"no write access",
			always(reg.Request("POST", ""), reg.Answer(403, nil, `{"errors":[{"code":"DENIED","message":"permission_denied: write_package"}]}`)),
			ErrAuth, "log in"},
		{"not logged in", always(reg.Request("POST", ""), reg.Answer(401, nil, `{"errors":[{"code":"UNAUTHORIZED"}]}`)), ErrAuth,
			"no credentials were found"},
		{"rate limit without end", always(blobPut, reg.Answer(429, nil, "")), ErrLimited, "few minutes"},
		{"blobs never arrive", always(blobPut, reg.Answer(502, nil, "")), nil, ""},
		{"connection always dropped", always(blobPut, reg.Drop(100)), nil, "can be reached"},
		{"blobs accepted and lost", always(blobPut, swallow), nil, ""},
		{"manifests refused", always(manifestPut, reg.Answer(400, nil, `{"errors":[{"code":"MANIFEST_INVALID","message":"no"}]}`)), nil, ""},
		{"read back another manifest",
			always(reg.Request("GET", "/manifests/sha256:"),
				reg.Change(func(h http.Header, _ []byte) []byte { h.Del("Content-Length"); return []byte("{}") })), nil, ""},
		{"blobs gone when read back", afterPut("", always(reg.Request("HEAD", "/blobs/"), reg.Answer(404, nil, ""))), nil, ""},
		{"a blob has another size when read back", always(reg.Request("HEAD", "/blobs/"), reg.Change(func(h http.Header, b []byte) []byte {
			if h.Get("Content-Length") != "" {
				h.Set("Content-Length", "7")
			}
			return b
		})), nil, ""},
		{"referrers refused", always(reg.Request("PUT", "/manifests/sha256-"), reg.Answer(400, nil, "")), nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			repo := fmt.Sprintf("lasting/%d", i)
			before := sample(t, 1)
			if _, err := Push(context.Background(), dial(t, f.Real+"/"+repo, options(nil)), before, pushOptions(t, before)); err != nil {
				t.Fatal(err)
			}
			f.Set(c.fault)
			defer f.Set(nil)
			after := sample(t, 2)
			_, err := Push(context.Background(), dial(t, f.Addr+"/"+repo, options(nil)), after, pushOptions(t, after))
			if err == nil {
				t.Fatal("the push says that it succeeded")
			}
			if c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if hint := diag.HintOf(err); !strings.Contains(hint, c.hint) {
				t.Errorf("the hint is %q, want %q in it; the error is %v", hint, c.hint, err)
			}
			found := expectWhole(t, f.Real+"/"+repo)
			if len(found) != 2 || found["latest"] != before.Index.Digest {
				t.Errorf("after a failed push the registry has %v, want latest at %s", found, before.Index.Digest)
			}
			f.Set(nil)
			if _, err := Push(context.Background(), dial(t, f.Addr+"/"+repo, options(nil)), after, pushOptions(t, after)); err != nil {
				t.Fatalf("pushing again when the fault is over: %v", err)
			}
			if found := expectWhole(t, f.Real+"/"+repo); len(found) != 3 || found["latest"] != after.Index.Digest {
				t.Errorf("afterwards the registry has %v", found)
			}
		})
	}
}

// swallow says that it stored a blob.
func swallow(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
	_, _ = io.Copy(io.Discard, r.Body)
	w.WriteHeader(http.StatusCreated)
	return true
}

// A push that is killed at any point leaves every tag at a whole image, and the
// next push sends nothing that arrived. Every ninth point is tried, with
// SBX_SOAK=1 each of them.
func TestPushKilledAtAnyRequest(t *testing.T) {
	f := reg.StartFaulty(t)
	a := sample(t, 1)
	before := sample(t, 5)
	total := 1 << 30
	step := 9
	if os.Getenv("SBX_SOAK") != "" {
		step = 1
	}
	for kill := 1; kill <= total; kill += step {
		repo := fmt.Sprintf("killed/%d", kill)
		if _, err := Push(context.Background(), dial(t, f.Real+"/"+repo, options(nil)), before, pushOptions(t, before)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		var n atomic.Int64
		f.Requests()
		f.Set(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			if n.Add(1) >= int64(kill) {
				cancel()
				panic(http.ErrAbortHandler)
			}
			return false
		})
		c, err := Dial(ctx, f.Addr+"/"+repo, true, nil, options(nil))
		if err == nil {
			_, err = Push(ctx, c, a, pushOptions(t, a))
		}
		cancel()
		if err == nil {
			total = 0 // it needed fewer requests than that
		}
		f.Set(nil)
		found := expectWhole(t, f.Real+"/"+repo)
		if len(found) < 2 || len(found) > 3 {
			t.Errorf("killed at request %d the registry has %v", kill, found)
		}
		arrived := 0
		for _, b := range a.Blobs() {
			if ok, err := dial(t, f.Real+"/"+repo, options(nil)).HasBlob(context.Background(), b.Descriptor); err == nil && ok {
				arrived++
			}
		}
		report, err := Push(context.Background(), dial(t, f.Addr+"/"+repo, options(nil)), a, pushOptions(t, a))
		if err != nil {
			t.Fatalf("after a kill at request %d: %v", kill, err)
		}
		sent := len(uploaded(report, a))
		if sent > len(a.Blobs())-arrived {
			t.Errorf("after a kill at request %d, %d of %d blobs had arrived and %d were sent", kill, arrived, len(a.Blobs()), sent)
		}
		if found := expectWhole(t, f.Real+"/"+repo); len(found) != 3 || found["latest"] != a.Index.Digest {
			t.Errorf("after taking up a push killed at request %d the registry has %v", kill, found)
		}
		if t.Failed() {
			return
		}
	}
}
