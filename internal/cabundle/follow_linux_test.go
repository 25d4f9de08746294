package cabundle

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// trusts is a container of the test, and the warnings about it.
func trusts(t *testing.T) (trust Trust, warnings chan error) {
	warnings = make(chan error, 10)
	return Trust{File: filepath.Join(t.TempDir(), Published), Warn: func(err error) { warnings <- err },
		dir: filepath.Join(t.TempDir(), "trust"), root: t.TempDir()}, warnings
}

// Certificates that the firewall publishes later are in the bundles without a start.
func TestLaterCertificatesAreTrusted(t *testing.T) {
	trust, _ := trusts(t)
	write(t, filepath.Join(trust.root, systemBundles[0]), "theirs\n")
	if err := trust.Publish([]byte(one), false); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(trust.dir); err == nil {
		t.Error("there are bundles where no programs are")
	}
	if err := trust.Follow(); err != nil {
		t.Fatal(err)
	}
	later := strings.Replace(one, "MQ", "Mw", 1)
	if err := trust.Publish([]byte(later), false); err != nil {
		t.Fatal(err)
	}
	got := []byte(nil)
	for deadline := time.Now().Add(time.Minute); string(got) != "theirs\n"+later; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: the bundle has %q", got)
		}
		got, _ = os.ReadFile(filepath.Join(trust.dir, bundle))
	}
}

// Until the firewall publishes certificates, programs trust the image's. No file is empty:
// a program would warn of it at each start.
func TestFilesBeforeTheFirstCertificate(t *testing.T) {
	trust, _ := trusts(t)
	theirs := strings.Replace(one, "MQ", "Mg", 1)
	write(t, filepath.Join(trust.root, systemBundles[0]), theirs+one)
	if err := trust.Write(); err == nil {
		t.Error("a file that must be there is missing, and it is no error")
	}
	trust.Later = true
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{bundle: theirs + one, added: theirs} {
		if got, err := os.ReadFile(filepath.Join(trust.dir, name)); string(got) != want {
			t.Errorf("%s holds %q, %v", name, got, err)
		}
	}
	if err := trust.Publish([]byte(one), false); err != nil {
		t.Fatal(err)
	}
	if err := trust.Write(); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(trust.dir, added)); string(got) != one {
		t.Errorf("%s holds %q, %v", added, got, err)
	}
}

// Where the firewall and the programs share a container, the system's bundle has the
// certificates, too; an image without one is a warning.
func TestPublishWhereTheProgramsAre(t *testing.T) {
	trust, warnings := trusts(t)
	if err := trust.Publish([]byte(one), true); err != nil || len(warnings) != 1 || !errors.Is(<-warnings, ErrNoBundle) {
		t.Errorf("%v, %d warnings", err, len(warnings))
	}
	system := filepath.Join(trust.root, systemBundles[0])
	write(t, system, "theirs\n")
	if err := trust.Publish([]byte(one), true); err != nil || len(warnings) != 0 {
		t.Errorf("%v, %d warnings", err, len(warnings))
	}
	for _, name := range []string{system, filepath.Join(trust.dir, bundle)} {
		if text, err := os.ReadFile(name); err != nil || !strings.Contains(string(text), one) {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// A variable that somebody set is theirs.
func TestVariablesThatAreSetStay(t *testing.T) {
	got := AddVariables([]string{"PATH=/bin", "SSL_CERT_FILE=/own"})
	if !slices.Contains(got, "SSL_CERT_FILE=/own") || slices.Contains(got, Variables()[0]) || len(got) != len(Variables())+1 {
		t.Errorf("%q", got)
	}
}
