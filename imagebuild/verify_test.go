package imagebuild

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/sbom"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// wrong lists the checks that failed.
func wrong(t *testing.T, c *registry.Client, tag string, o VerifyOptions) []string {
	t.Helper()
	v, err := Verify(context.Background(), c, tag, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, check := range v.Checks {
		if !check.OK {
			names = append(names, check.Name+": "+check.Detail)
		}
	}
	if v.OK != (len(names) == 0) {
		t.Errorf("OK is %t with %q", v.OK, names)
	}
	return names
}

func TestVerify(t *testing.T) {
	addr := registrytest.Start(t)
	ctx := context.Background()
	m := testMaterials(t, npmServer(t, nil))
	m.Init = carriedInit(t)
	s := testSpec(t, m)
	c, err := registry.Dial(ctx, addr+"/me/sandbox", true, nil, offline())
	if err != nil {
		t.Fatal(err)
	}
	push := func(a artifact.Artifact, tag string, documents bool) {
		t.Helper()
		o := registry.PushOptions{Tags: []tags.Tag{{Name: tag}}}
		if documents {
			o.Kinds = Kinds()
			o.Referrers = func(ctx context.Context) ([]artifact.Manifest, error) {
				return Documents(ctx, m, s, a, c.Name(), Run{})
			}
		}
		if _, err := registry.Push(ctx, c, a, o); err != nil {
			t.Fatal(err)
		}
	}
	a, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	push(a, "v1", true)
	all := VerifyOptions{Lock: &s.Lock, Sandbox: true, SBOM: true, Deep: true, NPM: &m.NPM, Digest: a.Index.Digest}
	if bad := wrong(t, c, "v1", all); len(bad) > 0 {
		t.Errorf("a good image: %q", bad)
	}
	documents(t, c, a)

	// Each of these images is complete, and not what the lock says.
	change := func(edit func(*artifact.Manifest, int)) artifact.Artifact {
		images := append([]artifact.Manifest{}, a.Images...)
		for i := range images {
			edit(&images[i], i)
		}
		out, err := artifact.Index(images, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	replaceLayer := func(at int) artifact.Artifact {
		other, err := InitArtifact(map[string][]byte{"amd64": []byte("evil")}, About{})
		if err != nil {
			t.Fatal(err)
		}
		evil := other.Images[0].Blobs[1]
		return change(func(image *artifact.Manifest, i int) {
			if i > 0 {
				return
			}
			file, err := base.ReadConfig(ctx, *image)
			if err != nil {
				t.Fatal(err)
			}
			var layers []artifact.Layer
			for n, b := range image.Blobs[1:] {
				l := artifact.Layer{Blob: b, DiffID: file.RootFS.DiffIDs[n]}
				if n == at {
					l.Blob, l.MediaType = evil, types.OCILayer
				}
				layers = append(layers, l)
			}
			if *image, err = artifact.Image(file, layers, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
	o := VerifyOptions{Lock: &s.Lock, Sandbox: true}
	for name, c2 := range map[string]struct {
		a    artifact.Artifact
		o    VerifyOptions
		want string
	}{
		"another base":                 {replaceLayer(0), o, "layers linux/amd64: base layer 1"},
		"another Claude Code":          {replaceLayer(1), o, "layers linux/amd64"},
		"no account":                   {replaceLayer(2), o, "account layer"},
		"content unlike configuration": {replaceLayer(3), VerifyOptions{Sandbox: true, Deep: true}, "does not name"},
		"no SBOM":                      {replaceLayer(3), VerifyOptions{SBOM: true}, "SBOM: none"},
		"another digest":               {replaceLayer(3), VerifyOptions{Digest: a.Index.Digest}, "digest"},
		"one platform only":            {change(func(*artifact.Manifest, int) {}), o, ""},
	} {
		if name == "one platform only" {
			if c2.a, err = artifact.Index(a.Images[:1], nil); err != nil {
				t.Fatal(err)
			}
			c2.want = "platforms"
		}
		tag := strings.ReplaceAll(name, " ", "-")
		push(c2.a, tag, false)
		if bad := wrong(t, c, tag, c2.o); !strings.Contains(strings.Join(bad, "\n"), c2.want) {
			t.Errorf("%s: found wrong: %q, want %q", name, bad, c2.want)
		}
	}
	plain, err := InitArtifact(map[string][]byte{"amd64": []byte("x")}, About{})
	if err != nil {
		t.Fatal(err)
	}
	push(plain, "plain", false)
	if bad := wrong(t, c, "plain", VerifyOptions{Sandbox: true}); len(bad) < 3 {
		t.Errorf("an image that is no sandbox: %q", bad)
	}

	// npm states another checksum than the lock that was made in good faith.
	changed := s.Lock
	claude := *s.Lock.Claude
	claude.Platforms = append([]lock.ClaudePlatform{}, claude.Platforms...)
	claude.Platforms[0].Integrity = "sha512-" + strings.Repeat("A", 86) + "=="
	changed.Claude = &claude
	if bad := wrong(t, c, "v1", VerifyOptions{Lock: &changed, NPM: &m.NPM, Deep: true}); len(bad) != 2 {
		t.Errorf("another checksum: %q", bad)
	}
}

// documents reads the SBOM and the provenance as a scanner would.
func documents(t *testing.T, c *registry.Client, a artifact.Artifact) {
	t.Helper()
	ctx := context.Background()
	referrers, err := c.Referrers(ctx, a.Index.Digest)
	if err != nil || len(referrers) != 2 {
		t.Fatalf("%d referrers, %v", len(referrers), err)
	}
	v := &verifier{ctx: ctx, c: c, out: &Verified{Digest: a.Index.Digest}}
	for _, d := range referrers {
		doc, err := v.document(d)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(doc)
		wants := []string{`"pkg:deb/debian/bash@5.2-1%2Bb2?arch=amd64"`, `"pkg:deb/debian/iptables@1%3A1.8.9-2?arch=arm64"`,
			`"pkg:npm/@anthropic-ai/claude-code-linux-x64@2.1.329"`, `"pkg:golang/golang.org/x/sys@`, `"pkg:golang/stdlib@`, `"SHA512"`}
		if d.ArtifactType == sbom.ProvenanceType {
			wants = []string{`"https://slsa.dev/provenance/v1"`, a.Index.Digest.Hex, `"gitCommit":"abc"`, `"sha512":"`, `"lockSHA256":"`}
		}
		for _, want := range wants {
			if !bytes.Contains(text, []byte(want)) {
				t.Errorf("%s does not hold %s", d.ArtifactType, want)
			}
		}
		if bytes.Contains(text, []byte(`"gone"`)) || bytes.Contains(text, []byte("/tmp/")) {
			t.Errorf("%s speaks of what is not there, or of this machine", d.ArtifactType)
		}
		ids := map[any]bool{}
		packages, _ := doc["packages"].([]any)
		for _, p := range packages {
			id := p.(map[string]any)["SPDXID"]
			if ids[id] {
				t.Errorf("the id %v is there twice", id)
			}
			ids[id] = true
		}
		relationships, _ := doc["relationships"].([]any)
		for _, r := range relationships {
			for _, end := range []string{"spdxElementId", "relatedSpdxElement"} {
				if id := r.(map[string]any)[end]; !ids[id] && id != "SPDXRef-DOCUMENT" {
					t.Errorf("a relationship names %v, which is not there", id)
				}
			}
		}
	}
}
