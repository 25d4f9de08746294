package enginetest

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// SmallImage is what firewall and agent need, made of this machine's own programs. An
// image with Claude Code would cost a test most of its time.
const SmallImage = "localhost/sbx-podman-test:latest"

// podmanLimits keep Podman 4.3 from setting limits everywhere that root may not raise to.
const podmanLimits = `[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
lock_type = "file"
events_logger = "file"
`

// StartPodman starts a Podman of this test's own, which has SmallImage, in
// namespaces that go with it: its bridge, rules and mounts are its own, and
// the programs that it leaves behind for minutes end. more is PackPrograms'.
func StartPodman(t *testing.T, more map[string]string) *engine.Engine {
	t.Helper()
	testenv.Root(t)
	dir, err := os.MkdirTemp("", "sbx-podman") // Podman takes no path of more than 50 bytes, as a test's name can make one
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return ServePodman(t, dir, more, "unshare", "--net", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child",
		"bash", "-c", `while :; do "$@"; sleep 1; done`, "podman") // see RestartPodman
}

// RestartPodman ends the service of StartPodman, which DOCKER_HOST names, with a signal, and
// returns when there is another one. Its containers live on.
func RestartPodman(t *testing.T, signal syscall.Signal) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ended := 0
	for _, file := range files {
		line, _ := os.ReadFile(file) // of a process that may be gone
		name, _, _ := bytes.Cut(line, []byte{0})
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if filepath.Base(string(name)) == "podman" && bytes.Contains(line, []byte(os.Getenv("DOCKER_HOST")+"\x00")) {
			err = errors.Join(err, syscall.Kill(pid, signal))
			ended++
		}
	}
	if err != nil || ended != 1 {
		t.Errorf("%d services of Podman were ended: %v", ended, err)
	}
	time.Sleep(time.Second) // it is gone for a while
	Await(t)
}

// ServePodman starts a Podman that keeps everything in dir and has SmallImage, to which
// DOCKER_HOST leads then. before is the program that starts it, with its arguments; without it
// Podman starts directly. more is PackPrograms'.
func ServePodman(t *testing.T, dir string, more map[string]string, before ...string) *engine.Engine {
	t.Helper()
	program := testenv.Program(t, "podman")
	conf := podmanLimits
	if _, err := exec.LookPath("runc"); err == nil { // crun 1.8 takes no machine with both versions of control groups
		conf += "runtime = \"runc\"\n"
	}
	if err := os.WriteFile(dir+"/containers.conf", []byte(conf), 0o644); err != nil {
		t.Fatal(err)
	}
	podman := func(args ...string) *exec.Cmd {
		args = slices.Concat(before, []string{program, "--root", dir + "/root", "--runroot", dir + "/run", "--tmpdir", dir + "/tmp",
			"--storage-driver", "overlay"}, args)
		cmd := exec.Command(args[0], args[1:]...)
		cmd.Env = append(os.Environ(), "CONTAINERS_CONF="+dir+"/containers.conf")
		cmd.Dir = dir // a program of Podman's leaves a file where it was started
		return cmd
	}
	socket := filepath.Join(dir, "podman.sock")
	service := podman("system", "service", "--time", "0", "unix://"+socket)
	var said bytes.Buffer
	service.Stdout, service.Stderr = &said, &said
	service.WaitDelay = time.Second // what it leaves behind has its output
	if err := service.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = service.Process.Kill()
		_ = service.Wait()
		if t.Failed() {
			t.Logf("podman: %s", &said)
		}
	})
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	e := Await(t)
	ImportImage(t, SmallImage, PackPrograms(more))
	return e
}

// ImportImage makes an image of the archive that pack writes, on the engine that
// DOCKER_HOST names.
func ImportImage(t *testing.T, name string, pack func(io.Writer) error) {
	t.Helper()
	load := exec.CommandContext(t.Context(), testenv.Program(t, "docker"), "import", "-", name)
	in, err := load.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	packed := make(chan error, 1)
	go func() { packed <- errors.Join(pack(in), in.Close()) }()
	if out, err := load.CombinedOutput(); err != nil {
		t.Fatalf("importing %s: %v: %s", name, err, out)
	}
	if err := <-packed; err != nil {
		t.Fatal(err)
	}
}

// Await connects to the engine that DOCKER_HOST names as soon as it answers.
func Await(t *testing.T) *engine.Engine {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		e, err := engine.Connect(t.Context())
		if err == nil {
			t.Cleanup(func() { e.Close() })
			return e
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// PackPrograms returns what writes an archive of a small system: the packet filter's
// programs, a shell and what tests' agents use, with their libraries. more are further
// programs by their places, which can be run and not read.
func PackPrograms(more map[string]string) func(io.Writer) error {
	return func(w io.Writer) error {
		p := packer{tar.NewWriter(w), map[string]bool{}}
		return errors.Join(p.system(more), p.Close())
	}
}

// packer writes an archive, each file once.
type packer struct {
	*tar.Writer
	done map[string]bool
}

// folder adds a folder and those above it: left out, Docker would make one without
// the right to search it.
func (p *packer) folder(dir string) error {
	if dir == "/" || p.done[dir] {
		return nil
	}
	p.done[dir] = true
	return errors.Join(p.folder(filepath.Dir(dir)), p.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir[1:] + "/", Mode: 0o755}))
}

// add adds a file of this machine at a place, and the libraries of a program.
func (p *packer) add(place, name string, mode int64) error {
	if p.done[place] {
		return nil
	}
	p.done[place] = true
	data, err := os.ReadFile(name)
	if err := errors.Join(err, p.folder(filepath.Dir(place))); err != nil {
		return err
	}
	if err := p.WriteHeader(&tar.Header{Name: place[1:], Mode: mode, Size: int64(len(data))}); err != nil {
		return err
	}
	if _, err := p.Write(data); err != nil {
		return err
	}
	out, _ := exec.Command("ldd", name).Output() // fails for what has no libraries
	for word := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(word, "/") {
			if err := p.add(word, word, 0o755); err != nil {
				return err
			}
		}
	}
	return nil
}

// system adds what PackPrograms packs.
func (p *packer) system(more map[string]string) error {
	if err := p.folder("/usr/local"); err != nil {
		return err
	}
	for place, name := range more {
		if err := p.add(place, name, 0o111); err != nil {
			return err
		}
	}
	programs := []string{"/bin/sh", "bash", "cat", "cut", "git", "grep", "id", "ipset", "ln", "mkdir", "rm", "stat"}
	for _, name := range []string{"iptables", "ip6tables"} {
		for _, variant := range []string{"", "-nft", "-legacy"} {
			programs = append(programs, name+variant, name+variant+"-restore", name+variant+"-save")
		}
	}
	for _, name := range programs {
		path, err := exec.LookPath(name)
		if err == nil {
			err = p.add(path, path, 0o755)
		}
		if err != nil {
			return err
		}
	}
	modules, err := filepath.Glob("/usr/lib/*/xtables")
	for _, dir := range modules {
		err = errors.Join(err, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			return p.add(name, name, 0o755)
		}))
	}
	return err
}
