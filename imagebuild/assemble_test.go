package imagebuild

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"

	"github.com/org/claude-sandbox/imagebuild/artifact"
	"github.com/org/claude-sandbox/imagebuild/base"
	"github.com/org/claude-sandbox/imagebuild/lock"
	"github.com/org/claude-sandbox/imagebuild/registry"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// files reads a layer's entries.
func files(t *testing.T, b artifact.Blob) map[string]tar.Header {
	t.Helper()
	out, _ := unpack(t, b)
	return out
}

func unpack(t *testing.T, b artifact.Blob) (map[string]tar.Header, map[string][]byte) {
	t.Helper()
	r, err := b.Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	headers, contents := map[string]tar.Header{}, map[string][]byte{}
	for tr := tar.NewReader(zr); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return headers, contents
		}
		if err != nil {
			t.Fatal(err)
		}
		headers[h.Name] = *h
		if contents[h.Name], err = io.ReadAll(tr); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheImageIsASandbox(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	m.Init = carriedInit(t)
	s := testSpec(t, m)
	a, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(a.Images) != 2 {
		t.Fatalf("%d images", len(a.Images))
	}
	for _, image := range a.Images {
		arch := image.Platform.Architecture
		file, err := base.ReadConfig(context.Background(), image)
		if err != nil {
			t.Fatal(err)
		}
		if file.Architecture != arch || file.OS != "linux" || file.Config.User != "root" ||
			!slices.Equal(file.Config.Cmd, []string{"sleep", "infinity"}) ||
			strings.Join(file.Config.Entrypoint, " ") != "/usr/local/sbin/sbx-init run --policy /etc/sbx/sandbox.jsonc --user agent --" ||
			!slices.Contains(file.Config.Env, "DISABLE_AUTOUPDATER=1") || file.Created.Unix() != 1_700_000_000 {
			t.Errorf("%s: the configuration is %+v", arch, file)
		}
		layers := image.Blobs[1:]
		if len(layers) != 5 {
			t.Fatalf("%s: %d layers", arch, len(layers))
		}
		// The tarball is the layer: nothing between npm and the registry.
		claude, _ := s.Lock.ClaudeFor("linux/" + arch)
		r, err := layers[1].Open(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		data, _ := io.ReadAll(r)
		r.Close()
		npmName, _ := strings.CutPrefix(claude.Package, "@")
		if !bytes.Equal(data, claudeTarball(t, "@"+npmName, "2.1.329", arch)) || layers[1].Digest != claude.SHA256 {
			t.Errorf("%s: the layer is not npm's file", arch)
		}
		headers, contents := unpack(t, layers[2])
		if got := string(contents["etc/passwd"]); got != "root:x:0:0:root:/root:/bin/bash\nagent:x:1000:1000::/home/agent:/bin/bash\n" {
			t.Errorf("%s: passwd is %q", arch, got)
		}
		if got := string(contents["etc/group"]); got != "root:x:0:\nshadow:x:42:\nsudo:x:27:root\nagent:x:1000:\n" {
			t.Errorf("%s: group is %q", arch, got)
		}
		if h := headers["etc/shadow"]; h.Gid != 42 || h.Mode != 0o640 || strings.Contains(string(contents["etc/shadow"]), "node") {
			t.Errorf("%s: shadow is %+v %q", arch, h, contents["etc/shadow"])
		}
		if h := headers["usr/bin/su"]; h.Mode != 0o755 || string(contents["usr/bin/su"]) != "the program su" {
			t.Errorf("%s: su lends root's rights: %+v", arch, h)
		}
		if h := headers["home/agent/"]; h.Uid != 1000 || h.Mode != 0o700 {
			t.Errorf("%s: the home is %+v", arch, h)
		}
		headers, contents = unpack(t, layers[3])
		program, err := elf.NewFile(bytes.NewReader(contents["usr/local/sbin/sbx-init"]))
		if err != nil {
			t.Fatal(err)
		}
		if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; program.Machine != want ||
			headers["usr/local/sbin/sbx-init"].Mode != 0o755 {
			t.Errorf("%s: sbx-init is for %s", arch, program.Machine)
		}
		headers, contents = unpack(t, layers[4])
		if headers["usr/local/bin/claude"].Linkname != "/package/claude" || !bytes.Equal(contents["etc/sbx/sandbox.jsonc"], s.Policy) ||
			headers["etc/sbx/sandbox.jsonc"].Mode != 0o644 {
			t.Errorf("%s: the configuration layer holds %+v", arch, headers)
		}
		for name, h := range headers {
			if h.Uid != 0 || h.Gid != 0 {
				t.Errorf("%s: %s belongs to %d:%d", arch, name, h.Uid, h.Gid)
			}
		}
	}
	var index v1.IndexManifest
	if err := json.Unmarshal(a.Index.Raw, &index); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"title": "sandbox", "version": "1.2.3", "revision": "abc", "source": "https://example.com/r",
		"licenses": "Apache-2.0", "created": "2023-11-14T22:13:20Z"} {
		if got := index.Annotations["org.opencontainers.image."+key]; got != want {
			t.Errorf("annotation %s is %q, want %q", key, got, want)
		}
	}
}

// TestMain lets the test's program play another machine.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SBX_TEST_OTHER_MACHINE"); dir != "" {
		os.Exit(otherMachine(dir))
	}
	os.Exit(m.Run())
}

// otherMachine builds from the lock in dir, in an environment of its own, and
// prints the index's digest.
func otherMachine(dir string) int {
	data, err := os.ReadFile(filepath.Join(dir, "lock.json"))
	if err == nil {
		err = buildElsewhere(data)
	}
	if err != nil {
		os.Stderr.WriteString(err.Error() + "\n")
		return 1
	}
	return 0
}

func TestTwoMachinesOneDigest(t *testing.T) {
	testenv.Slow(t)
	url := npmServer(t, nil)
	m := testMaterials(t, url)
	s := testSpec(t, m)
	here, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.Lock.Format()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "lock.json"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	// Root can be another user there; the test's own program is closed to them.
	program, become, other := os.Args[0], "exec", os.Geteuid() == 0
	if other {
		testenv.Program(t, "setpriv")
		program, become = filepath.Join(dir, "program"), "exec setpriv --reuid 4321 --regid 4321 --clear-groups"
		text, err := os.ReadFile(os.Args[0])
		if err == nil {
			err = os.WriteFile(program, text, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, env := range [][]string{
		{"TZ=Pacific/Kiritimati", "LANG=tr_TR.UTF-8", "HOME=/nonexistent", "USER=somebody", "GOMAXPROCS=1"},
		{"TZ=America/St_Johns", "GOMAXPROCS=8", "SOURCE_DATE_EPOCH=5"},
	} {
		// The umask is a shell's to set: Go's standard library has it on Unix alone.
		cmd := exec.Command("sh", "-c", `umask 077; `+become+` "$0"`, program)
		cmd.Dir = t.TempDir()
		cache := t.TempDir()
		if other {
			if err := os.Chown(cache, 4321, 4321); err != nil {
				t.Fatal(err)
			}
		}
		cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "SBX_TEST_OTHER_MACHINE="+dir, "SBX_TEST_CACHE="+cache, "SBX_TEST_NPM="+url)
		var errout bytes.Buffer
		cmd.Stderr = &errout
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, errout.String())
		}
		if got := strings.TrimSpace(string(out)); got != here.Index.Digest.String() {
			t.Errorf("with %q: %s, here %s", env, got, here.Index.Digest)
		}
	}
}

func TestOutputsAreReadByOthers(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	a, err := Assemble(m, testSpec(t, m))
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "oci")
	for range 2 { // the second time over the first
		if err := artifact.WriteLayout(ctx, dir, a, nil, "sandbox"); err != nil {
			t.Fatal(err)
		}
	}
	path, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := path.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 || manifest.Manifests[0].Digest != a.Index.Digest {
		t.Fatalf("%+v, %v", manifest, err)
	}
	index, err := path.ImageIndex(a.Index.Digest)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	skopeo := testenv.Program(t, "skopeo")
	for _, arch := range []string{"amd64", "arm64"} {
		out, err := exec.Command(skopeo, "inspect", "--override-arch", arch, "oci:"+dir+":sandbox").Output()
		if err != nil || !bytes.Contains(out, []byte(`"Architecture": "`+arch+`"`)) {
			t.Errorf("skopeo says %v: %s", err, out)
		}
	}
	file := filepath.Join(t.TempDir(), "image.tar")
	write := func() []byte {
		var out bytes.Buffer
		if err := artifact.WriteTar(ctx, &out, a, "amd64", []string{"example.com/x:1"}); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	data := write()
	if !bytes.Equal(data, write()) {
		t.Error("two archives of one image differ")
	}
	if err := os.WriteFile(file, data, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"oci-archive:", "docker-archive:"} {
		if out, err := exec.Command(skopeo, "inspect", kind+file).CombinedOutput(); err != nil ||
			!bytes.Contains(out, []byte(`"Architecture": "amd64"`)) {
			t.Errorf("skopeo reads %s as %v: %s", kind, err, out)
		}
	}
	// We read our own output: as it is, and as a base.
	back, err := base.Layout(dir)
	if err != nil || back.Index.Digest != a.Index.Digest || len(back.Images) != 2 {
		t.Errorf("read back as %s, %v", back.Index.Digest, err)
	}
	if l, err := MakeLock(ctx, m, LockOptions{Bases: []string{"oci:" + dir + ":sandbox"}, NoClaude: true}); err != nil ||
		l.Base.Digest != a.Index.Digest || len(l.Base.Platforms) != 2 {
		t.Errorf("as a base: %+v, %v", l.Base, err)
	}
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "mine"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := artifact.WriteLayout(ctx, full, a, nil, ""); err == nil || diag.HintOf(err) == "" {
		t.Errorf("writing over a folder with files gives %v", err)
	}
}

func TestWithoutClaudeHoldsNothingOfIt(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	s.WithoutClaude = true
	a, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, image := range a.Images {
		for _, b := range image.Blobs[1:] {
			for name := range files(t, b) {
				if strings.Contains(name, "claude") && name != "home/agent/.claude/" {
					t.Errorf("the image holds %s", name)
				}
			}
		}
		if bytes.Contains(image.Raw, []byte("2.1.329")) {
			t.Errorf("the manifest speaks of a version of Claude Code: %s", image.Raw)
		}
	}
}

// A base's metadata is somebody else's; the editor would add what it asks for
// to what the sandbox has.
func TestBaseMetadataLendsNoRights(t *testing.T) {
	old := `[{"id":"feature"},{"privileged":true,"capAdd":["SYS_ADMIN"],"securityOpt":["seccomp=unconfined"],"mounts":["type=bind,` +
		`source=/var/run/docker.sock,target=/var/run/docker.sock"],"entrypoint":"/evil","containerUser":"root","remoteUser":"root",` +
		`"overrideCommand":true,"customizations":{"vscode":{"extensions":["a.b"]}}}]`
	c, err := containerConfig(v1.Config{
		Labels: map[string]string{metadataLabel: old, "org.opencontainers.image.source": "https://example.com/base", "maintainer": "x"},
		Env:    []string{"PATH=/bin", "DISABLE_UPDATES=0"}, Entrypoint: []string{"/evil"}, User: "1000", OnBuild: []string{"RUN evil"},
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "evil"}}, ExposedPorts: map[string]struct{}{"80/tcp": {}},
		Volumes: map[string]struct{}{"/etc": {}},
	}, map[string]string{"org.opencontainers.image.title": "t"})
	if err != nil {
		t.Fatal(err)
	}
	var entries []map[string]any
	if err := json.Unmarshal([]byte(c.Labels[metadataLabel]), &entries); err != nil {
		t.Fatal(err)
	}
	for i, e := range entries[:len(entries)-1] {
		for _, key := range lendsRights {
			if _, ok := e[key]; ok {
				t.Errorf("entry %d of the base still has %s", i, key)
			}
		}
	}
	last := entries[len(entries)-1]
	if len(entries) != 3 || last["remoteUser"] != "agent" || last["overrideCommand"] != false || entries[1]["customizations"] == nil {
		t.Errorf("the metadata is %s", c.Labels[metadataLabel])
	}
	if c.Labels["org.opencontainers.image.source"] != "" || c.Labels["maintainer"] != "x" ||
		c.Labels["org.opencontainers.image.title"] != "t" {
		t.Errorf("the labels are %v", c.Labels)
	}
	if c.Entrypoint[0] != "/usr/local/sbin/sbx-init" || c.User != "root" || c.OnBuild != nil || c.Healthcheck != nil ||
		c.ExposedPorts != nil || c.Volumes != nil || slices.Contains(c.Env, "DISABLE_UPDATES=0") {
		t.Errorf("the configuration is %+v", c)
	}
	if _, err := mergeMetadata(`"text"`); err == nil {
		t.Error("metadata that is no object is accepted")
	}
}

// The package must have the digest that npm states.
func TestATamperedPackageIsNotLocked(t *testing.T) {
	testenv.Slow(t)
	for name, edit := range map[string]func(string, []byte) []byte{
		"another file": func(path string, body []byte) []byte {
			if strings.HasSuffix(path, ".tgz") {
				return claudeTarball(t, "@anthropic-ai/claude-code-linux-x64", "2.1.328", "amd64")
			}
			return body
		},
		"cut off": func(path string, body []byte) []byte {
			if strings.HasSuffix(path, ".tgz") {
				return body[:len(body)-20]
			}
			return body
		},
	} {
		m := testMaterials(t, npmServer(t, edit))
		_, err := MakeLock(context.Background(), m, LockOptions{Bases: []string{"linux/amd64=rootfs:" + rootfs(t, "amd64")}})
		if err == nil || !strings.Contains(err.Error(), "claude-code-linux-x64") || diag.HintOf(err) == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestABaseThatChangedIsRefused(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	other := testMaterials(t, m.NPM.URL) // another machine: nothing in the cache
	a, err := Assemble(other, s)
	if err != nil {
		t.Fatal(err)
	}
	file := strings.TrimPrefix(s.Lock.Base.Platforms[0].Ref, "rootfs:")
	data, err := os.ReadFile(rootfs(t, "arm64"))
	if err == nil {
		err = os.WriteFile(file, data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range []int{1, 3} { // the base's own layer, and the one that is made from it
		_, err := a.Images[0].Blobs[i].Open(context.Background())
		if !errors.Is(err, ErrLock) || !strings.Contains(diag.HintOf(err), "image lock") {
			t.Errorf("layer %d: %v", i, err)
		}
		if !errors.Is(err, registry.ErrContent) {
			t.Errorf("layer %d: an upload would try again after %v", i, err)
		}
	}
}

func TestAnotherInitIsRefused(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	m.Init = func(string) ([]byte, error) { return []byte("another"), nil }
	if _, err := Assemble(m, s); !errors.Is(err, ErrLock) || !strings.Contains(diag.HintOf(err), "--update sbx") {
		t.Errorf("got %v", err)
	}
}

// A sum beside the carried program that is not the program's must not put a
// program under another one's name into the cache or the image.
func TestInitWithAForgedSumIsRefused(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	m.InitSHA256 = map[string]string{"amd64": strings.Repeat("0", 64), "arm64": strings.Repeat("0", 64)}
	for p := range s.Lock.Init.SHA256 {
		s.Lock.Init.SHA256[p] = strings.Repeat("0", 64)
	}
	for range 2 { // nothing of the first try may make the second one pass
		if _, err := Assemble(m, s); err == nil || !strings.Contains(err.Error(), "as it says itself") {
			t.Errorf("got %v", err)
		}
		if _, err := m.initModules("amd64", strings.Repeat("0", 64)); err == nil || !strings.Contains(err.Error(), "as it says itself") {
			t.Errorf("got %v", err)
		}
	}
}

// Where the sum is known, nothing is unpacked once the cache has the layer.
func TestAKnownInitIsNotUnpackedAgain(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	want, err := Assemble(m, s)
	if err != nil {
		t.Fatal(err)
	}
	m.InitSHA256 = map[string]string{"amd64": s.Lock.Init.SHA256["linux/amd64"], "arm64": s.Lock.Init.SHA256["linux/arm64"]}
	m.Init = func(string) ([]byte, error) { t.Error("sbx-init was unpacked"); return nil, errors.New("unpacked") }
	if got, err := Assemble(m, s); err != nil || got.Index.Digest != want.Index.Digest {
		t.Errorf("%s, %v; want %s", got.Index.Digest, err, want.Index.Digest)
	}
}

func TestUpdateTouchesOnlyWhatItNames(t *testing.T) {
	testenv.Slow(t)
	m := testMaterials(t, npmServer(t, nil))
	l := testLock(t, m)
	old := l
	old.Claude = &lock.Claude{Version: "2.1.1", Platforms: l.Claude.Platforms}
	old.Init = lock.Init{Version: "old", SHA256: map[string]string{"linux/amd64": "x", "linux/arm64": "y"}}
	got, err := MakeLock(context.Background(), m, LockOptions{Old: &old, Update: []string{"claude"}, SourceDate: l.SourceDate})
	if err != nil {
		t.Fatal(err)
	}
	if got.Claude.Version != "2.1.329" || got.Init.Version != "old" || got.Base.Platforms[0].Digest != old.Base.Platforms[0].Digest {
		t.Errorf("got %+v", got)
	}
}

func TestAPlatformThatTheLockLacksIsRefused(t *testing.T) {
	m := testMaterials(t, npmServer(t, nil))
	s := testSpec(t, m)
	s.Platforms = []string{"linux/arm64", "linux/riscv64"}
	if _, err := Assemble(m, s); !errors.Is(err, ErrLock) || !strings.Contains(diag.HintOf(err), "it has: linux/") {
		t.Errorf("got %v", err)
	}
}
