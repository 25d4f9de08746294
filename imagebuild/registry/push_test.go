package registry

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/diag"
	reg "github.com/org/claude-sandbox/internal/test/registrytest"
)

func TestNothingChangedCostsFewRequests(t *testing.T) {
	f := reg.StartFaulty(t)
	a := sample(t, 1)
	o := pushOptions(t, a)
	for _, tag := range []string{"v1", "v1.2", "sha-0123456789ab"} {
		o.Tags = append(o.Tags, tags.Tag{Name: tag, Immutable: tags.IsImmutable(tag)})
	}
	if _, err := Push(context.Background(), dial(t, f.Addr+"/me/x", options(nil)), a, o); err != nil {
		t.Fatal(err)
	}
	f.Requests()
	report, err := Push(context.Background(), dial(t, f.Addr+"/me/x", options(nil)), a, o)
	if err != nil {
		t.Fatal(err)
	}
	requests := f.Requests()
	if !report.Unchanged || report.Sent != 0 || len(requests) > 15 || report.Requests < int64(len(requests)) {
		t.Errorf("pushing again: %+v, %d requests: %q", report, len(requests), requests)
	}
	for _, r := range requests {
		if !strings.HasPrefix(r, "HEAD ") && !strings.HasPrefix(r, "GET ") {
			t.Errorf("pushing the same image again wrote: %s", r)
		}
	}
}

func TestTagsComeLast(t *testing.T) {
	f := reg.StartFaulty(t)
	a := sample(t, 1)
	if _, err := Push(context.Background(), dial(t, f.Addr+"/me/x", options(nil)), a, pushOptions(t, a)); err != nil {
		t.Fatal(err)
	}
	requests := f.Requests()
	first := slices.IndexFunc(requests, func(r string) bool { return strings.HasPrefix(r, "PUT ") && strings.Contains(r, "/manifests/v") })
	floating := slices.Index(requests, "PUT /v2/me/x/manifests/latest")
	lastOther := 0
	for i, r := range requests {
		if strings.HasPrefix(r, "PUT ") && (strings.Contains(r, "/manifests/sha256") || strings.Contains(r, "/blobs/")) {
			lastOther = i
		}
	}
	if first < 0 || floating < first || lastOther > first {
		t.Errorf("the version was written as request %d, latest as %d, the last of everything else as %d: %q", first,
			floating, lastOther, requests)
	}
}

func TestAVersionDoesNotMove(t *testing.T) {
	addr := reg.Start(t)
	ctx := context.Background()
	one, two := sample(t, 1), sample(t, 2)
	o := PushOptions{Tags: []tags.Tag{{Name: "latest"}, {Name: "v1.2.3", Immutable: true}}}
	c := dial(t, addr+"/me/x", options(nil))
	if _, err := Push(ctx, c, one, o); err != nil {
		t.Fatal(err)
	}
	if _, err := Push(ctx, c, two, o); !errors.Is(err, ErrTagMoved) || !strings.Contains(diag.HintOf(err), "--force-tag") {
		t.Fatalf("moving v1.2.3 gives %v, want ErrTagMoved with a hint", err)
	}
	for _, tag := range []string{"latest", "v1.2.3"} { // nothing was written, not even to the floating tag
		if got, err := c.Head(ctx, tag); err != nil || got != one.Index.Digest {
			t.Errorf("%s is %s, %v after the refusal, want %s", tag, got, err, one.Index.Digest)
		}
	}
	if found, err := c.HasBlob(ctx, two.Images[0].Blobs[0].Descriptor); err != nil || found {
		t.Errorf("the refused image's configuration is there: %t, %v", found, err)
	}
	o.ForceTag = true
	if _, err := Push(ctx, c, two, o); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Head(ctx, "v1.2.3"); err != nil || got != two.Index.Digest {
		t.Errorf("--force-tag leaves v1.2.3 at %s, %v", got, err)
	}
}

func TestBlobsAreMountedFromAnotherRepository(t *testing.T) {
	f := reg.StartFaulty(t)
	ctx := context.Background()
	a := sample(t, 1)
	if _, err := Push(ctx, dial(t, f.Addr+"/base/image", options(nil)), a, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	for i := range a.Images {
		for j := range a.Images[i].Blobs {
			a.Images[i].Blobs[j].From = f.Addr + "/base/image"
		}
	}
	c := dial(t, f.Addr+"/me/x", options(nil))
	plan, err := Plan(ctx, c, a, pushOptions(t, a))
	if err != nil || plan.Sent != 0 || plan.Blobs[0].How != Mounted {
		t.Errorf("the plan is %+v, %v", plan, err)
	}
	report, err := Push(ctx, c, a, pushOptions(t, a))
	if err != nil || len(uploaded(report, a)) != 0 {
		t.Errorf("%q were sent, %v", uploaded(report, a), err)
	}
	expectWhole(t, f.Real+"/me/x")

	// A registry that refuses to mount gets the blobs.
	f.Set(reg.Times(1<<30, func(r *http.Request) bool { return r.URL.Query().Get("mount") != "" },
		reg.Answer(404, nil, `{"errors":[{"code":"NAME_UNKNOWN"}]}`)))
	if report, err = Push(ctx, dial(t, f.Addr+"/me/y", options(nil)), a, pushOptions(t, a)); err != nil || len(uploaded(report, a)) == 0 {
		t.Errorf("where mounting is refused: %q were sent, %v", uploaded(report, a), err)
	}
	expectWhole(t, f.Real+"/me/y")
}

func TestPlanWritesNothing(t *testing.T) {
	f := reg.StartFaulty(t)
	a := sample(t, 1)
	plan, err := Plan(context.Background(), dial(t, f.Addr+"/me/x", options(nil)), a, pushOptions(t, a))
	if err != nil {
		t.Fatal(err)
	}
	var want int64
	for _, b := range a.Blobs() {
		want += b.Size
	}
	if plan.Sent != want || len(plan.Blobs) != len(a.Blobs()) || len(plan.Tags) != 2 {
		t.Errorf("the plan is %+v, want %d bytes", plan, want)
	}
	for _, r := range f.Requests() {
		if !strings.HasPrefix(r, "HEAD ") && !strings.HasPrefix(r, "GET ") {
			t.Errorf("the plan wrote: %s", r)
		}
	}
}

// A local file is checked like one from outside: a cache that
// was tampered with must not be published.
func TestWrongContentIsNotPublished(t *testing.T) {
	addr := reg.Start(t)
	a := sample(t, 1)
	b := &a.Images[0].Blobs[1]
	for name, content := range map[string]string{"short": "x", "same length": strings.Repeat("x", int(b.Size)),
		"long": strings.Repeat("x", int(b.Size)+1)} {
		opened := 0
		b.Open = func(context.Context) (io.ReadCloser, error) {
			opened++
			return io.NopCloser(strings.NewReader(content)), nil
		}
		_, err := Push(context.Background(), dial(t, addr+"/me/x", options(nil)), a, pushOptions(t, a))
		if !errors.Is(err, ErrContent) || opened != 1 {
			t.Errorf("%s: %v after %d attempts, want wrong content at once", name, err, opened)
		}
	}
	expectWhole(t, addr+"/me/x")
}

// A list under a tag has no lock: what another writer added must not be lost.
func TestConcurrentReferrersAreKept(t *testing.T) {
	f := reg.StartFaulty(t)
	ctx := context.Background()
	a := sample(t, 1)
	c := dial(t, f.Addr+"/me/x", options(nil))
	if _, err := Push(ctx, c, a, PushOptions{}); err != nil {
		t.Fatal(err)
	}
	other, err := artifact.New(map[string]any{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
		"manifests": []any{}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	// Somebody replaces the list right after it was written.
	n := 0
	f.Set(func(w http.ResponseWriter, r *http.Request, next http.Handler) bool {
		if r.Method != "PUT" || !strings.Contains(r.URL.Path, "/manifests/sha256-") {
			return false
		}
		next.ServeHTTP(w, r)
		if n++; n <= 2 {
			if _, err := dial(t, f.Real+"/me/x", options(nil)).PutManifest(ctx, fallbackTag(a.Index.Digest), other.Descriptor,
				other.Raw); err != nil {
				t.Error(err)
			}
		}
		return true
	})
	referrers, err := pushOptions(t, a).Referrers(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := pushReferrers(ctx, c, a, referrers, PushOptions{}, &Report{}); err != nil {
		t.Fatal(err)
	}
	if list, err := c.Referrers(ctx, a.Index.Digest); err != nil || len(list) != 1 || n != 3 {
		t.Errorf("the list is %v, %v after %d writes", list, err, n)
	}
}
