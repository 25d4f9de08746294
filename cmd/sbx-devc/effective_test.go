package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/testenv"
)

// With a real engine: the label of a local image is merged as the reference
// CLI merges it, for an image and for a Dockerfile that builds on it.
func TestEffectiveReadsTheImagesLabel(t *testing.T) {
	reference := testenv.Program(t, "devcontainer")
	docker := testenv.Program(t, "docker")
	image := fmt.Sprintf("sbx-effective-test-%d", os.Getpid())
	build := exec.Command(docker, "build", "-q", "-t", image, "-")
	build.Stdin = strings.NewReader("FROM scratch\nLABEL devcontainer.metadata='[{\"id\":\"x\",\"privileged\":true,\"capAdd\":[\"SYS_PTRACE\"]},{\"remoteUser\":\"dev\"}]'\nUSER dev\nCMD [\"/x\"]\n")
	if out, err := build.CombinedOutput(); err != nil {
		testenv.Missing(t, "container engine", string(out))
	}
	t.Cleanup(func() { exec.Command(docker, "rmi", "-f", image).Run() })
	for name, files := range map[string]map[string]string{
		"image":      {"devcontainer.json": `{"image": "` + image + `", "capAdd": ["NET_RAW"]}`},
		"Dockerfile": {"devcontainer.json": `{"build": {"dockerfile": "Dockerfile", "args": {"BASE": "` + image + `"}}}`, "Dockerfile": "ARG BASE\nFROM $BASE\n"},
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
			out, err := exec.Command(reference, "read-configuration", "--include-merged-configuration", "--workspace-folder", dir).Output()
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
