package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// With a real engine: the label of a local image is merged as the reference
// CLI merges it, for an image and for a Dockerfile that builds on it.
func TestEffectiveReadsTheImagesLabel(t *testing.T) {
	testenv.Program(t, "devcontainer")
	docker := testenv.Program(t, "docker")
	image := fmt.Sprintf("sbx-effective-test-%d", os.Getpid())
	build := exec.Command(docker, "build", "-q", "-t", image, "-")
	build.Stdin = strings.NewReader(
		"FROM scratch\nLABEL devcontainer.metadata='[{\"id\":\"x\",\"privileged\":true,\"capAdd\":[\"SYS_PTRACE\"]},{\"remoteUser\":\"dev\"}" +
			"]'\nUSER dev\nCMD [\"/x\"]\n")
	if out, err := build.CombinedOutput(); err != nil {
		testenv.Missing(t, "container engine", string(out))
	}
	t.Cleanup(func() { exec.Command(docker, "rmi", "-f", image).Run() })
	for name, files := range map[string]map[string]string{
		"image": {"devcontainer.json": `{"image": "` + image + `", "capAdd": ["NET_RAW"]}`},
		"Dockerfile": {"devcontainer.json": `{"build": {"dockerfile": "Dockerfile", "args": {"BASE": "` + image + `"}}}`,
			"Dockerfile": "ARG BASE\nFROM $BASE\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, ".devcontainer"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, text := range files {
				if err := os.WriteFile(filepath.Join(dir, ".devcontainer", file), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			out, err := testenv.Devcontainer(t, "read-configuration", "--include-merged-configuration", "--workspace-folder", dir).Output()
			if err != nil {
				t.Fatal(err)
			}
			var want struct {
				Merged map[string]any `json:"mergedConfiguration"`
			}
			if err := json.Unmarshal(out, &want); err != nil {
				t.Fatal(err)
			}
			delete(want.Merged, "configFilePath")
			var stdout, stderr bytes.Buffer
			a := &app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, getenv: os.Getenv}
			if code := a.main(context.Background(), []string{"effective", "--format", "json", dir}); code != 0 {
				t.Fatalf("exit %d: %s", code, stderr.String())
			}
			var got struct {
				Configuration map[string]any              `json:"configuration"`
				Provenance    map[string][]map[string]any `json:"provenance"`
				Unknown       []string                    `json:"unknown"`
			}
			if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Configuration, want.Merged) {
				t.Errorf("ours\n%v\nreference\n%v", got.Configuration, want.Merged)
			}
			if from := got.Provenance["/privileged"]; len(from) != 1 || from[0]["source"] != "image "+image || len(got.Unknown) > 0 {
				t.Errorf("privileged comes from %v; not known: %v", from, got.Unknown)
			}
		})
	}
}

// pushFeature puts a Feature into a registry as publishers do.
func pushFeature(t *testing.T, ref, metadata string) {
	t.Helper()
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	for _, f := range [][2]string{{"devcontainer-feature.json", metadata}, {"install.sh", "#!/bin/sh\n"}} {
		if err := w.WriteHeader(&tar.Header{Name: "./" + f[0], Mode: 0o755, Size: int64(len(f[1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(f[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	img := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	img = mutate.ConfigMediaType(img, "application/vnd.devcontainers")
	img, err := mutate.AppendLayers(img, static.NewLayer(layer.Bytes(), "application/vnd.devcontainers.layer.v1+tar"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := name.ParseReference(ref)
	if err != nil {
		t.Fatal(err)
	}
	annotated := mutate.Annotations(img, map[string]string{"dev.containers.metadata": metadata}).(v1.Image)
	if err := remote.Write(parsed, annotated); err != nil {
		t.Fatal(err)
	}
}

// Features of a registry, with dependencies and an order of their own, are
// merged as the reference CLI merges them.
func TestEffectiveReadsFeaturesOfARegistry(t *testing.T) {
	testenv.Program(t, "devcontainer")
	docker := testenv.Program(t, "docker")
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(server.URL, "http://"), ":")
	at := "localhost:" + port + "/acme/features/"
	pushFeature(t, at+"zeta:1", `{"id": "zeta", "version": "1.0.0", "onCreateCommand": "zeta", "capAdd": ["SYS_NICE"]}`)
	beta := `{"id": "beta", "version": "2.0.0", "onCreateCommand": "beta", "privileged": true, "dependsOn": {"` + at + `zeta:1": {}}}`
	pushFeature(t, at+"beta:2", beta)
	pushFeature(t, at+"beta:latest", beta) // installsAfter names no version
	pushFeature(t, at+"alpha:1", `{"id": "alpha", "version": "1.0.0", "onCreateCommand": "alpha", "installsAfter": ["`+at+
		`beta"], "mounts": ["type=volume,source=a-${devcontainerId},target=/a"]}`)

	image := fmt.Sprintf("sbx-effective-registry-test-%d", os.Getpid())
	build := exec.Command(docker, "build", "-q", "-t", image, "-")
	build.Stdin = strings.NewReader("FROM scratch\nCMD [\"/x\"]\n")
	if out, err := build.CombinedOutput(); err != nil {
		testenv.Missing(t, "container engine", string(out))
	}
	t.Cleanup(func() { exec.Command(docker, "rmi", "-f", image).Run() })
	dir := t.TempDir()
	config := `{"image": "` + image + `", "features": {"` + at + `alpha:1": {}, "` + at + `beta:2": {}}}`
	if err := os.WriteFile(filepath.Join(dir, ".devcontainer.json"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	out, err := testenv.Devcontainer(t, "read-configuration", "--include-merged-configuration", "--workspace-folder", dir).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var want struct {
		Merged map[string]any `json:"mergedConfiguration"`
	}
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	delete(want.Merged, "configFilePath")
	var stdout, stderr bytes.Buffer
	a := &app{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, getenv: os.Getenv}
	if code := a.main(context.Background(), []string{"effective", "--online", "--format", "json", dir}); code != 0 {
		t.Fatalf("exit %d: %s", code, stderr.String())
	}
	var got struct {
		Configuration map[string]any `json:"configuration"`
		Unknown       []string       `json:"unknown"`
	}
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Configuration, want.Merged) || len(got.Unknown) > 0 {
		t.Errorf("ours\n%v\nreference\n%v\nnot known: %v", got.Configuration, want.Merged, got.Unknown)
	}
	if order := fmt.Sprint(got.Configuration["onCreateCommands"]); order != "[zeta beta alpha]" {
		t.Errorf("order %s", order)
	}
}
