//go:build unix

package engine

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
)

func TestSSHCommand(t *testing.T) {
	begin := []string{"ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "-T"}
	for address, want := range map[string][]string{
		"ssh://host":                {"--", "host", "docker", "system", "dial-stdio"},
		"ssh://me@host:2222/":       {"-l", "me", "-p", "2222", "--", "host", "docker", "system", "dial-stdio"},
		"ssh://me@[2001:db8::1]":    {"-l", "me", "--", "2001:db8::1", "docker", "system", "dial-stdio"},
		"ssh://host/run/a b.sock":   {"--", "host", "docker", "--host", "'unix:///run/a b.sock'", "system", "dial-stdio"},
		"ssh://host/run/$(id).sock": {"--", "host", "docker", "--host", "'unix:///run/$(id).sock'", "system", "dial-stdio"},
	} {
		if got, err := sshCommand(address, false); err != nil || !slices.Equal(got, append(slices.Clone(begin), want...)) {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
	if got, err := sshCommand("ssh://host/p.sock", true); err != nil || strings.Join(got[7:], " ") != "host podman --url unix:///p.sock system dial-stdio" {
		t.Errorf("%q, %v", got, err)
	}
}

// Attack: an address whose user or host is an option of ssh's, which would run a command.
func TestAttackAnAddressThatIsAnOption(t *testing.T) {
	for _, address := range []string{
		"ssh://-oProxyCommand=id", "ssh://-oProxyCommand=id@host", "ssh://%2DoProxyCommand=id@host", "ssh://", "ssh:///path", "ssh://me:secret@host",
	} {
		if args, err := sshCommand(address, false); err == nil {
			t.Errorf("%s: %q", address, args)
		}
	}
}

// viaSSH puts a program ssh on the PATH that runs its command here, as sshd would.
func viaSSH(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DOCKER_HOST", "ssh://me@far.example")
}

// A program in a container has its streams over ssh, too: 1 MiB there and back, and the
// end of its input. Nothing of ssh stays.
func TestAnEngineOverSSH(t *testing.T) {
	local := connectOrSkip(t)
	image := testImage(t, local)
	pids := filepath.Join(t.TempDir(), "pids")
	viaSSH(t, `echo $$ >>`+pids+`
while [ "$1" != -- ]; do shift; done
[ "$2" = far.example ] || exit 255
shift 2
DOCKER_HOST=`+local.Host()+` exec sh -c "exec $*"`)
	e, err := Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !e.Remote() || e.Host() != "ssh://me@far.example" {
		t.Errorf("%s, remote %v", e.Host(), e.Remote())
	}
	id := create(t, e, Spec{Image: image, Process: Process{Command: []string{"cat"}, Stdin: true}})
	exit := e.Wait(t.Context(), id)
	stream, err := e.Attach(t.Context(), id, true, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	sent := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	go func() {
		_, _ = stream.Write(sent)
		_ = stream.CloseWrite()
	}()
	var out, stderr bytes.Buffer
	if err := stream.Copy(&out, &stderr); err != nil || !bytes.Equal(out.Bytes(), sent) || stderr.String() != "end of input\n" {
		t.Errorf("%d bytes, %q, %v", out.Len(), stderr.String(), err)
	}
	if end := <-exit; end.Code != 3 || end.Err != nil {
		t.Errorf("%+v", end)
	}
	if err := errors.Join(stream.Close(), e.Remove(t.Context(), id), e.Close()); err != nil {
		t.Error(err)
	}
	text, _ := os.ReadFile(pids)
	for pid := range strings.FieldsSeq(string(text)) {
		if n, _ := strconv.Atoi(pid); syscall.Kill(n, 0) == nil {
			t.Errorf("the program %s goes on", pid)
		}
	}
}

func TestWhatSSHSaysIsShown(t *testing.T) {
	viaSSH(t, "echo 'Host key verification failed.' >&2; exit 255")
	_, err := Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Host key verification failed.") || !strings.Contains(diag.HintOf(err), "ssh-add") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
}
