package main

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// imageRun runs sbx-devc in this process, with the variables of env and no
// others, and returns what it printed and its exit code.
func imageRun(t *testing.T, env map[string]string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(env["stdin"]), stdout: &out, stderr: &errs, getenv: func(k string) string { return env[k] }}
	code = a.main(t.Context(), args)
	return strings.TrimSpace(out.String()), errs.String(), code
}

// imageOK runs sbx-devc, which must succeed, and returns its standard output.
func imageOK(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := imageRun(t, map[string]string{"SOURCE_DATE_EPOCH": "1700000000"}, args...)
	if code != 0 {
		t.Fatalf("sbx-devc %q: exit %d: %s", args, code, errs)
	}
	return out
}

// imageProject is a folder with the lock of a small image for two platforms,
// and a policy.
func imageProject(t *testing.T) string {
	t.Helper()
	testenv.Slow(t)
	if len(carried.Sums()) < 2 {
		testenv.Missing(t, "the carried sbx-init", "run scripts/build")
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	args := []string{"image", "lock", dir, "--without-claude"}
	for _, arch := range []string{"amd64", "arm64"} {
		var packed bytes.Buffer
		tw := tar.NewWriter(&packed)
		for name, text := range map[string]string{
			"etc/passwd": "root:x:0:0::/root:/bin/sh\n", "etc/group": "root:x:0:\n", "usr/bin/arch": arch,
			"usr/bin/iptables": "1", "usr/bin/ip6tables": "2", "usr/bin/ipset": "3", "usr/bin/bash": "4", "usr/bin/sh": "5",
		} {
			if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text)), Typeflag: tar.TypeReg}); err != nil {
				t.Fatal(err)
			}
			if _, err := tw.Write([]byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tw.Close(); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(dir, arch+".tar")
		if err := os.WriteFile(file, packed.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--base", "linux/"+arch+"=rootfs:"+file)
	}
	imageOK(t, args...)
	imagePolicyOf(t, dir, `{"network": {"mode": "none"}}`)
	return dir
}

// imagePolicyOf writes the project's policy.
func imagePolicyOf(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, ".devcontainer"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, ".devcontainer", "sandbox.jsonc"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
