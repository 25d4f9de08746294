package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/internal/test/registrytest"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// The sizes of the real thing, of each platform: Claude Code's package and a
// base of Debian with git. The content does not compress, like those.
const (
	benchClaude = 174_000_000
	benchBase   = 65_000_000
)

// noise returns n bytes that do not compress.
func noise(seed uint64, n int) []byte {
	out := make([]byte, n)
	random := rand.New(rand.NewPCG(seed, seed))
	for i := 0; i+8 <= n; i += 8 {
		v := random.Uint64()
		for j := range 8 {
			out[i+j] = byte(v >> (8 * j))
		}
	}
	return out
}

func benchTar(b *testing.B, files map[string][]byte) []byte {
	b.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for name, data := range files {
		if err := tw.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Typeflag: tar.TypeReg}); err != nil {
			b.Fatal(err)
		}
		if _, err := tw.Write(data); err != nil {
			b.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// imageBench is a project with a lock, and the program that pushes it.
type imageBench struct {
	b        *testing.B
	dir      string
	env      []string
	registry *registrytest.Faulty
}

func newImageBench(b *testing.B) *imageBench {
	b.Helper()
	s := &imageBench{b: b, dir: b.TempDir(), registry: registrytest.StartFaulty(b)}
	program, err := filepath.Abs("../../bin/sbx-devc")
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		testenv.Missing(b, "bin/sbx-devc", "run scripts/build first")
	}
	// The registry of npm is a process of its own in the world, and here a
	// server that hands out one file for each platform.
	files := map[string][]byte{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	b.Cleanup(server.Close)
	args := []string{"image", "lock", s.dir, "--claude", "2.1.329"}
	for i, arch := range []struct{ npm, name, machine string }{{"x64", "amd64", "\x3e"}, {"arm64", "arm64", "\xb7"}} {
		name := "@anthropic-ai/claude-code-linux-" + arch.npm
		claude := noise(uint64(i)+1, benchClaude)
		copy(claude, "\x7fELF\x02\x01\x01"+strings.Repeat("\x00", 9)+"\x02\x00"+arch.machine+"\x00")
		var packed bytes.Buffer
		zw, err := gzip.NewWriterLevel(&packed, gzip.NoCompression)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := zw.Write(benchTar(b,
			map[string][]byte{"package/claude": claude,
				"package/package.json": fmt.Appendf(nil, `{"name":%q,"version":"2.1.329"}`, name)})); err != nil {
			b.Fatal(err)
		}
		if err := zw.Close(); err != nil {
			b.Fatal(err)
		}
		sum := sha512.Sum512(packed.Bytes())
		files["/"+name+"/-/claude.tgz"] = packed.Bytes()
		files["/"+name+"/2.1.329"] = fmt.Appendf(nil, `{"name":%q,"version":"2.1.329","dist":{"integrity":"sha512-%s","tarball":%q}}`, name,
			base64.StdEncoding.EncodeToString(sum[:]), server.URL+"/"+name+"/-/claude.tgz")
		base := map[string][]byte{"etc/passwd": []byte("root:x:0:0::/root:/bin/sh\n"), "etc/group": []byte("root:x:0:\n"),
			"usr/lib/noise": noise(uint64(i)+10, benchBase)}
		for _, tool := range []string{"iptables", "ip6tables", "ipset", "bash", "sh"} {
			base["usr/bin/"+tool] = []byte(tool)
		}
		file := filepath.Join(s.dir, arch.name+".tar")
		if err := os.WriteFile(file, benchTar(b, base), 0o644); err != nil {
			b.Fatal(err)
		}
		args = append(args, "--base", "linux/"+arch.name+"=rootfs:"+file)
		if i == 0 { // what the engine builds from
			if err := os.WriteFile(filepath.Join(s.dir, "claude"), claude, 0o755); err != nil {
				b.Fatal(err)
			}
		}
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write(files[r.URL.Path]) })
	s.env = append(os.Environ(), "XDG_CACHE_HOME="+b.TempDir(), "NPM_CONFIG_REGISTRY="+server.URL, "SOURCE_DATE_EPOCH=1700000000",
		"SBX_BENCH_PROGRAM="+program)
	cmd := exec.Command(program, args...)
	cmd.Env = s.env
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	clear(files)
	if err := os.Mkdir(filepath.Join(s.dir, ".devcontainer"), 0o755); err != nil {
		b.Fatal(err)
	}
	s.policy(0)
	return s
}

func (s *imageBench) policy(n int) {
	text := fmt.Sprintf("{\n  // %d\n  \"network\": {\"mode\": \"none\"}\n}\n", n)
	if err := os.WriteFile(filepath.Join(s.dir, ".devcontainer", "sandbox.jsonc"), []byte(text), 0o644); err != nil {
		s.b.Fatal(err)
	}
}

// push runs one push under five tags and returns its report and its peak
// memory in bytes.
func (s *imageBench) push(repo string) (requests, sent, memory int64) {
	s.b.Helper()
	args := []string{"image", "push", "--dir", s.dir, "--json"}
	for _, tag := range []string{"latest", "v1", "v1.2", "edge", "branch-x"} {
		args = append(args, s.registry.Addr+"/"+repo+":"+tag)
	}
	program := strings.TrimPrefix(s.env[len(s.env)-1], "SBX_BENCH_PROGRAM=")
	cmd := exec.Command(program, args...)
	cmd.Env = s.env
	var out, errout bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errout
	if err := cmd.Start(); err != nil {
		s.b.Fatal(err)
	}
	// The figure of wait4 begins with the memory of the process that forked.
	done := make(chan struct{})
	peak := make(chan int64)
	go func() {
		var most int64
		for {
			if kb := highWater(cmd.Process.Pid); kb > 0 {
				most = kb * 1024
			}
			select {
			case <-done:
				peak <- most
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	err := cmd.Wait()
	close(done)
	memory = <-peak
	if err != nil {
		s.b.Fatalf("%v: %s", err, errout.String())
	}
	var report struct{ Requests, Sent int64 }
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		s.b.Fatal(err)
	}
	return report.Requests, report.Sent, memory
}

// highWater returns the most memory that a process has had, in KiB.
func highWater(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kb, _ := strconv.ParseInt(fields[1], 10, 64)
			return kb
		}
	}
	return 0
}

// BenchmarkImagePush pushes two platforms under five tags to a registry on this
// machine, and beside it lets an engine build and push one platform under one.
func BenchmarkImagePush(b *testing.B) {
	s := newImageBench(b)
	measure := func(name string, delay time.Duration, prepare func(i int) (repo string)) {
		b.Run(name, func(b *testing.B) {
			s.registry.Delay(delay)
			defer s.registry.Delay(0)
			var requests, sent, memory int64
			i := 0
			for b.Loop() {
				b.StopTimer()
				repo := prepare(i)
				i++
				b.StartTimer()
				r, n, m := s.push(repo)
				requests, sent, memory = r, n, max(memory, m)
			}
			b.ReportMetric(float64(requests), "requests")
			b.ReportMetric(float64(sent)/1e6, "MB-sent")
			b.ReportMetric(float64(memory)/1e6, "MB-peak")
		})
	}
	cold, changed := 0, 0
	fresh := func(int) string { cold++; return fmt.Sprintf("cold/%d", cold) }
	same := func(int) string { return "warm/x" }
	edit := func(int) string { changed++; s.policy(changed); return "warm/x" }
	s.push("warm/x")
	measure("cold", 0, fresh)
	measure("unchanged", 0, same)
	measure("one-file", 0, edit)
	s.push("warm/x")
	measure("cold-80ms", 80*time.Millisecond, fresh)
	measure("unchanged-80ms", 80*time.Millisecond, same)
	measure("one-file-80ms", 80*time.Millisecond, edit)

	docker := testenv.Program(b, "docker")
	if err := os.WriteFile(filepath.Join(s.dir, "Dockerfile"),
		[]byte("FROM scratch\nADD amd64.tar /\nCOPY claude /usr/local/bin/claude\nARG N\nLABEL n=$N\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, ".dockerignore"), []byte("*\n!amd64.tar\n!claude\n"), 0o644); err != nil {
		b.Fatal(err)
	}
	run := func(b *testing.B, args ...string) {
		if out, err := exec.Command(docker, args...).CombinedOutput(); err != nil {
			b.Fatalf("docker %q: %v: %s", args, err, out)
		}
	}
	b.Run("docker-one-platform-cold", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			name := fmt.Sprintf("%s/docker/%d:latest", s.registry.Real, i)
			run(b, "build", "-q", "--no-cache", "--build-arg", fmt.Sprintf("N=%d", i), "-t", name, s.dir)
			run(b, "push", "-q", name)
			b.StopTimer()
			run(b, "rmi", name)
			b.StartTimer()
		}
	})
}
