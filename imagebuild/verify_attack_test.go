package imagebuild

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/imagebuild/tags"
	"github.com/org/claude-sandbox/internal/test/registrytest"
)

// TestAttackAnImageSwappedBehindItsTag puts complete images in the place of a
// good one: the base and Claude Code are the lock's, and something of what
// sbx-devc lays above them, or of the settings, is the attacker's.
func TestAttackAnImageSwappedBehindItsTag(t *testing.T) {
	addr := registrytest.Start(t)
	m := testMaterials(t, npmServer(t, nil))
	m.Init = carriedInit(t)
	s := testSpec(t, m)
	c, err := registry.Dial(t.Context(), addr+"/me/sandbox", true, nil, offline())
	if err != nil {
		t.Fatal(err)
	}
	a, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	good := a.Images[slices.IndexFunc(a.Images, func(i artifact.Manifest) bool { return i.Platform.Architecture == "amd64" })]
	program, err := m.Init("amd64")
	if err != nil {
		t.Fatal(err)
	}
	top := len(good.Blobs) - 2 // the layer of the configuration files; sbx-init's is below it
	files := []layer.Entry{
		{Path: "etc/sbx/"}, {Path: policyPath, Data: s.Policy},
		{Path: "etc/profile.d/00-sbx.sh", Data: profileScript}, {Path: claudePath, Link: "/package/claude"},
	}
	one := layer.Entry{Path: initPath, Mode: 0o755, Data: program}
	label := func(entry string) func(*v1.ConfigFile) {
		return func(f *v1.ConfigFile) {
			f.Config.Labels[metadataLabel] = strings.Replace(f.Config.Labels[metadataLabel], "[", "["+entry+",", 1)
		}
	}
	last := func(key, value string) func(*v1.ConfigFile) {
		return func(f *v1.ConfigFile) {
			entry := sandboxMetadata()
			entry[key] = json.RawMessage(value)
			text, err := json.Marshal([]any{entry})
			if err != nil {
				t.Fatal(err)
			}
			f.Config.Labels[metadataLabel] = string(text)
		}
	}
	locked, alone := VerifyOptions{Lock: &s.Lock, Sandbox: true, Platform: "linux/amd64"}, VerifyOptions{Sandbox: true,
		Platform: "linux/amd64"}
	for name, try := range map[string]struct {
		at      int
		entries []layer.Entry
		edit    func(*v1.ConfigFile)
		o       VerifyOptions
		want    string // "" = nothing is wrong
	}{
		"nothing": {top - 1, []layer.Entry{one}, nil, locked, ""},
		"another policy": {top,
			append([]layer.Entry{{Path: policyPath, Data: []byte(`{"network": {"mode": "none"}}`)}}, slices.Delete(slices.Clone(files), 1, 2)...),
			nil, locked, ""},
		"another policy than wanted": {top,
			append([]layer.Entry{{Path: policyPath, Data: []byte(`{"network": {"mode": "none"}}`)}}, slices.Delete(slices.Clone(files), 1, 2)...),
			nil, VerifyOptions{Lock: &s.Lock, Policy: s.Policy, Platform: "linux/amd64"}, "policy linux/amd64"},
		"another sbx-init": {top - 1, []layer.Entry{{Path: initPath, Mode: 0o755, Data: []byte("\x7fELF evil")}}, nil, locked,
			"sbx-init linux/amd64"},
		"sbx-init lends root's rights": {top - 1, []layer.Entry{{Path: initPath, Mode: 0o4755, Data: program}}, nil, locked,
			"sbx-init linux/amd64"},
		"a file beside sbx-init": {top - 1,
			[]layer.Entry{one, {Path: "usr/local/sbin/iptables-restore", Mode: 0o755, Data: []byte("#!/bin/true\n")}}, nil, locked,
			"sbx-init linux/amd64"},
		"another claude": {top,
			append([]layer.Entry{{Path: claudePath, Mode: 0o755, Data: []byte("#!/bin/sh\n")}}, files[:3]...), nil, locked,
			"configuration files linux/amd64"},
		"sbx-init by a later layer": {top, append([]layer.Entry{{Path: initPath, Mode: 0o755, Data: []byte("evil")}}, files...), nil,
			locked, "configuration files linux/amd64"},
		"a policy of the agent's user": {top,
			append([]layer.Entry{{Path: policyPath, UID: 1000, Data: s.Policy}}, slices.Delete(slices.Clone(files), 1, 2)...), nil, locked,
			"configuration files linux/amd64"},
		"a library before each program": {-1, nil, func(f *v1.ConfigFile) { f.Config.Env = append(f.Config.Env, "LD_PRELOAD=/package/claude") },
			locked, "settings linux/amd64"},
		"a health check beside the walls": {-1, nil,
			func(f *v1.ConfigFile) { f.Config.Healthcheck = &v1.HealthConfig{Test: []string{"CMD", "/x"}} }, locked, "settings linux/amd64"},
		"the engine's socket": {-1, nil, label(`{"mounts":["type=bind,source=/var/run/docker.sock,target=/s"]}`), alone,
			"dev container metadata"},
		"every capability":          {-1, nil, label(`{"capAdd":["ALL"]}`), alone, "dev container metadata"},
		"a capability in our entry": {-1, nil, last("capAdd", `["NET_ADMIN","SYS_ADMIN"]`), alone, "dev container metadata"},
		"no filter of system calls": {-1, nil, last("securityOpt", `["no-new-privileges","seccomp=unconfined"]`), alone,
			"dev container metadata"},
		"the host's root": {-1, nil, last("mounts", `[{"type":"bind","source":"/","target":"/host"}]`), alone,
			"dev container metadata"},
		"an entry point of its own": {-1, nil, label(`{"entrypoint":"/x"}`), alone, "dev container metadata"},
	} {
		t.Run(name, func(t *testing.T) {
			file, err := base.ReadConfig(t.Context(), good)
			if err != nil {
				t.Fatal(err)
			}
			var layers []artifact.Layer
			for i, b := range good.Blobs[1:] {
				l := artifact.Layer{Blob: b, DiffID: file.RootFS.DiffIDs[i]}
				if i == try.at {
					l = layerOf(t, try.entries)
				}
				layers = append(layers, l)
			}
			if try.edit != nil {
				try.edit(&file)
			}
			image, err := artifact.Image(file, layers, nil)
			if err != nil {
				t.Fatal(err)
			}
			swapped, err := artifact.Index([]artifact.Manifest{image}, nil)
			if err != nil {
				t.Fatal(err)
			}
			tag := strings.NewReplacer(" ", "-", "'", "").Replace(name)
			if _, err := registry.Push(t.Context(), c, swapped, registry.PushOptions{Tags: []tags.Tag{{Name: tag}}}); err != nil {
				t.Fatal(err)
			}
			bad := wrong(t, c, tag, try.o)
			if (len(bad) > 0) != (try.want != "") || !strings.Contains(strings.Join(bad, "\n"), try.want) {
				t.Errorf("found wrong: %q, want %q", bad, try.want)
			}
		})
	}
}

func layerOf(t *testing.T, entries []layer.Entry) artifact.Layer {
	t.Helper()
	var content, blob bytes.Buffer
	if err := layer.Tar(&content, entries, epoch); err != nil {
		t.Fatal(err)
	}
	diffID, _, err := v1.SHA256(bytes.NewReader(content.Bytes()))
	if err == nil {
		err = layer.Gzip(&blob, io.Reader(&content))
	}
	if err != nil {
		t.Fatal(err)
	}
	return artifact.Layer{Blob: artifact.Bytes(types.OCILayer, blob.Bytes(), "a layer"), DiffID: diffID}
}
