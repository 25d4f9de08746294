package delivery

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// memory is a folder in memory.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "delivery")
	if err != nil || inMemory(dir) != nil {
		testenv.Missing(t, "/dev/shm", "no folder in memory")
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

func TestAParcelArrives(t *testing.T) {
	dir := memory(t)
	large := bytes.Repeat([]byte("0123456789"), 100_000) // more than a pipe holds
	text, err := Parcel{Env: []string{"A=1", "B=two\nlines"}, Files: map[string][]byte{"KEY": large}}.Encode()
	if err != nil {
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() { sent <- send(bytes.NewReader(text), filepath.Join(dir, pipe), time.Minute) }()
	env, err := receive(dir, time.Minute)
	if err != nil || !slices.Equal(env, []string{"A=1", "B=two\nlines"}) {
		t.Fatalf("%q %v", env, err)
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	got, err := os.ReadFile(filepath.Join(dir, "KEY"))
	if err != nil || !bytes.Equal(got, large) {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "KEY")); err != nil || info.Mode() != 0o400 {
		t.Errorf("%v %v", info, err)
	}
	if _, err := os.Lstat(filepath.Join(dir, pipe)); err == nil {
		t.Error("the pipe is still there")
	}
}

func TestNothingComes(t *testing.T) {
	dir := memory(t)
	if _, err := receive(dir, time.Millisecond); err == nil {
		t.Error("no error")
	}
	if err := send(strings.NewReader("{}"), filepath.Join(dir, "nobody"), time.Millisecond); err == nil {
		t.Error("nobody waits, and that is no error")
	}
}

// Attack: the folder of the secrets is on a disk, or something stands in the place of
// one.
func TestSecretsGoNowhereElse(t *testing.T) {
	dir := memory(t)
	if err := os.Symlink("/dev/null", filepath.Join(dir, "A")); err != nil {
		t.Fatal(err)
	}
	if err := writeFiles(dir, map[string][]byte{"A": []byte("x")}); err == nil {
		t.Error("a secret was written to what was there")
	}
	disk, err := os.MkdirTemp(".", "disk")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(disk)
	if inMemory(disk) == nil {
		testenv.Missing(t, "a disk", "the repository lies in memory")
	}
	if _, err := receive(disk, time.Millisecond); err == nil || !strings.Contains(err.Error(), "not in memory") {
		t.Errorf("got %v", err)
	}
	for name, text := range map[string]string{
		"another folder": `{"files":{"../a":""}}`, "no variable": `{"env":["SECRETVALUE"]}`, "a NUL": "{\"env\":[\"A=SECRETVALUE\\u0000\"]}",
		"no JSON": `SECRETVALUE`,
	} {
		if _, err := Decode([]byte(text)); err == nil || strings.Contains(err.Error(), "SECRETVALUE") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
