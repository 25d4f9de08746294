package feature

import (
	"archive/tar"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"github.com/org/claude-sandbox/imagebuild"
)

// The wrapper gives install.sh its variables whatever characters their values have,
// and runs nothing of them.
func TestTheVariablesOfInstallScripts(t *testing.T) {
	evil := "a'b \"c\" $(touch made) `touch made` $HOME\nline \\"
	f := Feature{Name: "x", Options: []Variable{{"EVIL", evil}, {"bad name", "left out"}},
		Files: []imagebuild.File{{Name: "install.sh", Executable: true,
			Data: []byte("#!/bin/sh\nprintf %s \"$EVIL|$_REMOTE_USER|$_REMOTE_USER_HOME|$_CONTAINER_USER\"\n")}}}
	err := In("base:1", Users{Container: "root", Remote: "root"}, []Feature{f}, func(dir string) error {
		cmd := exec.Command("sh", "run.sh")
		cmd.Dir = filepath.Join(dir, "0")
		out, err := cmd.CombinedOutput()
		if want := evil + "|root|/root|root"; string(out) != want {
			t.Errorf("got %q, want %q", out, want)
		}
		if _, err := os.Stat(filepath.Join(dir, "0", "feature", "made")); err == nil {
			t.Error("a value was run")
		}
		text, readErr := os.ReadFile(filepath.Join(dir, "Dockerfile"))
		want := "FROM base:1\nUSER root\nCOPY 0 /tmp/sbx-devc-features/0\n" +
			"RUN cd /tmp/sbx-devc-features/0 && chmod -R 0755 . && sh ./run.sh && cd / && rm -rf /tmp/sbx-devc-features\nUSER root\n"
		if readErr != nil || string(text) != want {
			t.Errorf("%v: %s", readErr, text)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// Attack: a value that would add a line to the Dockerfile, or a name that would leave
// the context.
func TestAttackTheDockerfileOfFeatures(t *testing.T) {
	for what, f := range map[string]Feature{
		"a line":   {Env: []Variable{{"A", "b\nRUN evil"}}},
		"a name":   {Env: []Variable{{"A=b C", "d"}}},
		"a folder": {Files: []imagebuild.File{{Name: "../../Dockerfile"}}},
	} {
		if err := In("base:1", Users{}, []Feature{f}, func(string) error { t.Errorf("%s: it would be built", what); return nil }); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for _, user := range []string{"a\nRUN evil", "a b"} {
		if _, err := dockerfile("base:1", Users{Image: user}, nil); err == nil {
			t.Errorf("the user %q: no error", user)
		}
	}
}

func archive(t *testing.T, headers ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, h := range headers {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(make([]byte, h.Size)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUnpack(t *testing.T) {
	plain := archive(t, tar.Header{Name: "./", Typeflag: tar.TypeDir}, tar.Header{Name: "./install.sh", Mode: 0o755, Size: 3},
		tar.Header{Name: "a/b", Mode: 0o644})
	var packed bytes.Buffer
	zw := gzip.NewWriter(&packed)
	if _, err := zw.Write(plain); err != nil || zw.Close() != nil {
		t.Fatal(err)
	}
	for what, text := range map[string][]byte{"tar": plain, "tar.gz": packed.Bytes()} {
		files, err := Unpack(bytes.NewReader(text))
		want := []imagebuild.File{{Name: "install.sh", Executable: true, Data: make([]byte, 3)}, {Name: "a/b", Data: []byte{}}}
		if err != nil || !slices.EqualFunc(files, want, func(a, b imagebuild.File) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
			t.Errorf("%s: %v %v", what, files, err)
		}
	}
}

// Attack: an archive that leaves its folder, that leads elsewhere by links, or that is
// larger than anybody waits for.
func TestAttackTheArchiveOfAFeature(t *testing.T) {
	var many []tar.Header
	for i := range maxFiles + 1 {
		many = append(many, tar.Header{Name: fmt.Sprint(i)})
	}
	for what, headers := range map[string][]tar.Header{
		"a path upwards":   {{Name: "../x"}},
		"a path inside":    {{Name: "a/../../x"}},
		"an absolute path": {{Name: "/etc/x"}},
		"a symbolic link":  {{Name: "x", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}},
		"a hard link":      {{Name: "x", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"a device":         {{Name: "x", Typeflag: tar.TypeChar}},
		"many files":       many,
		"many bytes":       {{Name: "x", Size: maxBytes + 1}},
	} {
		if files, err := Unpack(bytes.NewReader(archive(t, headers...))); err == nil {
			t.Errorf("%s: taken: %d files", what, len(files))
		}
	}
	if _, err := Unpack(strings.NewReader("no archive")); err == nil {
		t.Error("no archive: no error")
	}
}
