//go:build unix

package engine

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/test/testenv"
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
	if got, err := sshCommand("ssh://host/p.sock", true); err != nil ||
		strings.Join(got[7:], " ") != "host podman --url unix:///p.sock system dial-stdio" {
		t.Errorf("%q, %v", got, err)
	}
}

// Attack: an address whose user or host is an option of ssh's, which would run a command.
func TestAttackAnAddressThatIsAnOption(t *testing.T) {
	for _, address := range []string{
		"ssh://-oProxyCommand=id", "ssh://-oProxyCommand=id@host", "ssh://%2DoProxyCommand=id@host", "ssh://",
		"ssh:///path", "ssh://me:secret@host",
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

// sshServer starts a real sshd, which takes a key of the test's, and puts an ssh on the PATH
// that has this key, and knows the server where known is set.
func sshServer(t *testing.T, engine string, known bool) {
	t.Helper()
	testenv.Root(t) // sshd's separated part needs a folder of root's
	sshd, ssh := testenv.Program(t, "sshd"), testenv.Program(t, "ssh")
	dir := t.TempDir()
	key := func(name string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		public, err := os.ReadFile(file + ".pub")
		if err != nil {
			t.Fatal(err)
		}
		return string(public)
	}
	write := func(name, text string) string {
		t.Helper()
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	listener.Close() // sshd takes no open one
	host, _ := key("host"), write("authorized", key("user"))
	trusted := ""
	if known {
		trusted = fmt.Sprintf("[127.0.0.1]:%d %s", port, host)
	}
	if err := os.MkdirAll("/run/sshd", 0o755); err != nil { // as its service does
		t.Fatal(err)
	}
	config := fmt.Sprintf("ListenAddress 127.0.0.1:%d\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/authorized\nStrictModes no\nUsePAM no\n"+
		"PidFile none\nPermitRootLogin yes\nSetEnv DOCKER_HOST=%s\n", port, dir, engine)
	server := exec.Command(sshd, "-D", "-e", "-f", write("sshd_config", config))
	said, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(said)
	for lines.Scan() && !strings.Contains(lines.Text(), "listening on") {
		t.Log(lines.Text())
	}
	go io.Copy(io.Discard, said) //nolint:errcheck // until its end
	t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	client := fmt.Sprintf("IdentityFile %s/user\nIdentitiesOnly yes\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\n",
		dir, write("known", trusted))
	viaSSH(t, fmt.Sprintf("exec %s -F %s \"$@\"", ssh, write("ssh_config", client)))
	t.Setenv("DOCKER_HOST", fmt.Sprintf("ssh://root@127.0.0.1:%d", port))
}

// A program in a container has its streams over ssh, too: 1 MiB there and back, and the
// end of its input. Nothing of ssh stays.
func TestAnEngineOverSSH(t *testing.T) {
	local := connectOrSkip(t)
	image := testImage(t, local)
	t.Run("sshd", func(t *testing.T) {
		sshServer(t, local.Host(), true)
		catOverSSH(t, image)
	})
	t.Run("a server that nobody knows", func(t *testing.T) {
		sshServer(t, local.Host(), false)
		if _, err := Connect(t.Context()); err == nil || !strings.Contains(err.Error(), "Host key verification failed.") {
			t.Error(err)
		}
	})
	t.Run("what stays", func(t *testing.T) {
		pids := filepath.Join(t.TempDir(), "pids")
		viaSSH(t, `echo $$ >>`+pids+`
while [ "$1" != -- ]; do shift; done
[ "$2" = far.example ] || exit 255
shift 2
DOCKER_HOST=`+local.Host()+` exec sh -c "exec $*"`)
		catOverSSH(t, image)
		text, _ := os.ReadFile(pids)
		for pid := range strings.FieldsSeq(string(text)) {
			if n, _ := strconv.Atoi(pid); syscall.Kill(n, 0) == nil {
				t.Errorf("the program %s goes on", pid)
			}
		}
	})
}

// catOverSSH sends 1 MiB through a program in a container of the engine that DOCKER_HOST names.
func catOverSSH(t *testing.T, image string) {
	t.Helper()
	e, err := Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !e.Remote() || e.Host() != os.Getenv("DOCKER_HOST") {
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
}

func TestWhatSSHSaysIsShown(t *testing.T) {
	viaSSH(t, "echo 'Host key verification failed.' >&2; exit 255")
	_, err := Connect(t.Context())
	if err == nil || !strings.Contains(err.Error(), "Host key verification failed.") || !strings.Contains(diag.HintOf(err), "ssh-add") {
		t.Errorf("%v, hint %q", err, diag.HintOf(err))
	}
}
