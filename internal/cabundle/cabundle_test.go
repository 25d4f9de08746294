package cabundle

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const one = "-----BEGIN CERTIFICATE-----\nMQ==\n-----END CERTIFICATE-----\n"

func TestTheImagesBundleAndTheSandboxsCertificates(t *testing.T) {
	theirs := strings.Replace(strings.TrimSpace(one), "MQ", "Mg", 1)
	for _, place := range append(systemBundles, "") {
		root, dir := t.TempDir(), filepath.Join(t.TempDir(), "trust")
		ours := filepath.Join(root, "ca.pem")
		write(t, ours, one)
		want := theirs + "\n" + one
		if place == "" {
			want = one
		} else {
			write(t, filepath.Join(root, place), theirs)
		}
		if err := Write(dir, ours, root); err != nil != (place == "") || place == "" && !errors.Is(err, ErrNoBundle) {
			t.Errorf("%s: %v", place, err)
		}
		for name, want := range map[string]string{bundle: want, added: one} {
			if got, err := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
				t.Errorf("%s: %s holds %q, %v", place, name, got, err)
			}
		}
	}
}

func TestNothingIsMadeOfNoCertificate(t *testing.T) {
	dir, empty := filepath.Join(t.TempDir(), "trust"), filepath.Join(t.TempDir(), "ca.pem")
	write(t, empty, "")
	for _, path := range []string{empty, empty + ".missing"} {
		if err := Write(dir, path, "/"); err == nil {
			t.Error("no error")
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder exists")
	}
}

func TestTheSystemsBundleHasOneSandboxsCertificates(t *testing.T) {
	root := t.TempDir()
	system, ours := filepath.Join(root, systemBundles[0]), filepath.Join(root, "ca.pem")
	write(t, filepath.Join(root, "usr/bundle"), "theirs")
	if err := os.MkdirAll(filepath.Dir(system), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../../usr/bundle", system); err != nil {
		t.Fatal(err)
	}
	for _, sandbox := range []string{one, strings.Replace(one, "MQ", "Mw", 1)} {
		write(t, ours, sandbox)
		if err := AddToSystem(ours, root); err != nil {
			t.Fatal(err)
		}
		want := "theirs\n" + string(blockBegin) + sandbox + string(blockEnd)
		if got, err := os.ReadFile(system); string(got) != want {
			t.Errorf("%q, %v", got, err)
		}
		dir := filepath.Join(root, "trust")
		if err := Write(dir, ours, root); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, bundle)); string(got) != "theirs\n"+sandbox {
			t.Errorf("%q, %v", got, err)
		}
	}
}

func TestVariablesNameTheFiles(t *testing.T) {
	dir := t.TempDir()
	ours := filepath.Join(dir, "ca.pem")
	write(t, ours, one)
	if err := Write(dir, ours, dir); !errors.Is(err, ErrNoBundle) {
		t.Fatal(err)
	}
	for _, v := range Variables() {
		name, file, found := strings.Cut(v, Folder)
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil || !found || !strings.Contains(name, "=") {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Java itself reads the store in the tests of sbx-init; this is the format for machines
// without it.
func TestTheKeyStoreHasEachCertificate(t *testing.T) {
	store := keyStore([]byte(one + "text\n" + one))
	if !strings.HasPrefix(string(store), "\xfe\xed\xfe\xed\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x02\x00\x010") {
		t.Errorf("% x", store)
	}
	if got := strings.Count(string(store), "\x00\x05X.509\x00\x00\x00\x011"); got != 2 {
		t.Errorf("%d certificates", got)
	}
	const checksum = 20
	if got := len(store); got != 12+2*(4+3+8+7+4+1)+checksum {
		t.Errorf("%d bytes", got)
	}
}
