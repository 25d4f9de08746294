package rights

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

func parsed(t testing.TB, o CommandOptions, words []string) []Arg {
	t.Helper()
	src, err := json.Marshal(words)
	if err != nil {
		t.Fatal(err)
	}
	doc, _ := jsonc.Parse("f", src)
	return o.Parse(doc.Root)
}

// The tables say of each option what the engine's program says in its help.
func TestOptionsAreThoseOfTheEngine(t *testing.T) {
	docker := testenv.Program(t, "docker")
	line := regexp.MustCompile(`^  (?:-(\w), |    )--([a-z0-9-]+)( [a-zA-Z0-9_<=-]+)?(?:  |$)`)
	for _, tt := range []struct {
		command string
		options CommandOptions
		atLeast int
	}{{"run", RunOptions, 90}, {"build", ImageOptions, 25}} {
		help, err := exec.Command(docker, tt.command, "--help").Output()
		if err != nil {
			t.Fatal(err)
		}
		seen := 0
		for s := bufio.NewScanner(bytes.NewReader(help)); s.Scan(); {
			m := line.FindStringSubmatch(s.Text())
			if m == nil {
				continue
			}
			seen++
			if valued := m[3] != ""; tt.options.valued[m[2]] != valued || tt.options.switches[m[2]] == valued {
				t.Errorf("%s --%s: takes a value: %v", tt.command, m[2], valued)
			}
			if m[1] != "" && tt.options.short[m[1][0]] != m[2] {
				t.Errorf("%s -%s is --%s, not --%s", tt.command, m[1], m[2], tt.options.short[m[1][0]])
			}
		}
		if seen < tt.atLeast {
			t.Errorf("%s: only %d options were recognised in the help", tt.command, seen)
		}
	}
	for name := range RunOptions.valued {
		if RunOptions.switches[name] {
			t.Errorf("--%s is both", name)
		}
	}
}

// started is what the engine's program asks the engine for.
type started struct {
	User, Image string
	Env         []string
	Labels      map[string]string
	HostConfig  struct {
		Privileged, PublishAllPorts, ReadonlyRootfs        bool
		CapAdd, SecurityOpt, Binds, VolumesFrom            []string
		NetworkMode, PidMode, IpcMode, UTSMode, Usernsmode string
		Mounts                                             []struct{ Type, Source, Target string }
	}
}

// fakeEngine answers the engine's program and keeps what it asks for.
func fakeEngine(t *testing.T) (socket string, last func() *started) {
	var got *started
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Api-Version", "1.43")
		switch {
		case strings.HasSuffix(r.URL.Path, "/containers/create"):
			got = &started{}
			if err := json.NewDecoder(r.Body).Decode(got); err != nil {
				t.Error(err)
			}
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"Id": "x", "Warnings": []}`)
		case strings.HasSuffix(r.URL.Path, "/start"):
			w.WriteHeader(http.StatusNoContent)
		default:
			fmt.Fprint(w, "{}")
		}
	})
	socket = filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(mux)
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return socket, func() *started { s := got; got = nil; return s }
}

// capabilities writes a set of them in one way.
func capabilities(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, CapabilityName(n))
	}
	slices.Sort(out)
	return fmt.Sprint(slices.Compact(out))
}

// We read runArgs as the engine's program does: values
// that look like options, letters in one word, the last of several. SBX_MUTANTS
// sets the number of random lines.
func TestRunArgsAreReadAsTheEngineReadsThem(t *testing.T) {
	docker := testenv.Program(t, "docker")
	socket, last := fakeEngine(t)
	lines := [][]string{
		{"--label", "--privileged"}, {"-l", "--privileged"}, {"-l--privileged"}, {"-it", "--privileged"}, {"-itl", "--privileged"}, {"-v=/a:/b"},
		{"-v/a:/b"}, {"-itv/a:/b"},
		{"-itv=/a:/b"}, {"-tv", "/a:/b"}, {"--privileged", "--privileged=false"}, {"--privileged=false", "--privileged"}, {"--privileged=0"},
		{"--privileged=T"}, {"--privileged", "false", "--init"},
		{"--net", "host"}, {"--net=host"}, {"--pid", "host", "--pid", "container:x"}, {"--name", "--cap-add", "--cap-add", "SYS_ADMIN"},
		{"-i=false", "--cap-add=ALL"}, {"-e", "-v", "-v", "/x:/y"},
		{"--security-opt", "no-new-privileges", "--security-opt=label=disable"}, {"-u=root"}, {"-u", "a", "-u", "b"}, {"-P"}, {"-Pit"},
		{"--rm", "--", "--privileged"}, {"--", "--privileged"},
		{"-h", "--privileged"}, {"-m", "1g", "--privileged"}, {"--entrypoint", "--privileged", "--read-only"},
		{"--mount", "type=bind,source=/a,target=/b"}, {"--cgroupns=host", "--userns", "host"},
	}
	pieces := []string{"--privileged", "--privileged=false", "--privileged=true", "--label", "-l", "-e", "--env", "A=b", "--cap-add",
		"SYS_ADMIN", "--cap-add=NET_RAW", "-v", "-v=/a:/b", "-v/c:/d", "/e:/f", "--volume",
		"-it", "-itv", "-t", "-d", "-u", "root", "--pid", "host", "--pid=host", "--network", "--net=host", "--security-opt", "seccomp=unconfined",
		"--read-only", "--init", "-P", "--rm", "--name", "x", "-h",
		"--hostname=y", "--mount", "type=volume,source=a,target=/v", "--volumes-from", "-m", "512m", "--ipc", "private", "--uts=host", "--",
		"-i=false", "-w", "/", "--group-add"}
	r := rand.New(rand.NewPCG(1, 2))
	extra, _ := strconv.Atoi(os.Getenv("SBX_MUTANTS"))
	for range max(extra, 40) {
		var line []string
		for range 1 + r.IntN(5) {
			line = append(line, pieces[r.IntN(len(pieces))])
		}
		lines = append(lines, line)
	}
	refused := 0
	for _, line := range lines {
		cmd := exec.Command(docker, slices.Concat([]string{"-H", "unix://" + socket, "run", "-d"}, line, []string{"the-image", "word"})...)
		cmd.Env = append(os.Environ(), "DOCKER_CONFIG="+t.TempDir())
		out, err := cmd.CombinedOutput()
		want := last()
		if want == nil {
			refused++
			if err == nil {
				t.Errorf("%q: %s", line, out)
			}
			continue
		}
		ours := parsed(t, RunOptions, append(slices.Clone(line), "the-image", "word"))
		list := func(flag string) (out []string) {
			for _, a := range ours {
				if a.Flag == flag {
					out = append(out, a.Value)
				}
			}
			return out
		}
		one := func(flag string) string { return strings.Join(list(flag), " and ") }
		for what, pair := range map[string][2]any{
			"privileged":  {IsOn(one("privileged")), want.HostConfig.Privileged},
			"publish-all": {IsOn(one("publish-all")), want.HostConfig.PublishAllPorts},
			"read-only":   {IsOn(one("read-only")), want.HostConfig.ReadonlyRootfs}, "user": {one("user"), want.User},
			"pid": {one("pid"), want.HostConfig.PidMode},
			"ipc": {one("ipc"), want.HostConfig.IpcMode}, "uts": {one("uts"), want.HostConfig.UTSMode},
			"userns":       {one("userns"), want.HostConfig.Usernsmode},
			"cap-add":      {capabilities(list("cap-add")), capabilities(want.HostConfig.CapAdd)},
			"volumes-from": {fmt.Sprint(list("volumes-from")), fmt.Sprint(want.HostConfig.VolumesFrom)},
			"labels":       {strings.Join(slices.Sorted(slices.Values(list("label"))), "|") != "", len(want.Labels) > 0},
			"mounts":       {len(list("mount")), len(want.HostConfig.Mounts)},
		} {
			if pair[0] != pair[1] {
				t.Errorf("%q: %s is %v to us, %v to the engine", line, what, pair[0], pair[1])
			}
		}
		names := map[string]bool{}
		for _, e := range list("env") {
			name, _, _ := strings.Cut(e, "=")
			names[name] = true
		}
		if len(names) != len(want.Env) {
			t.Errorf("%q: variables %v to us, %v to the engine", line, slices.Collect(maps.Keys(names)), want.Env)
		}
		for _, b := range want.HostConfig.Binds {
			if !slices.Contains(list("volume"), b) {
				t.Errorf("%q: %s is mounted", line, b)
			}
		}
		if n := one("network"); n != "" && strings.Split(n, " and ")[0] != want.HostConfig.NetworkMode {
			t.Errorf("%q: network %q to us, %q to the engine", line, n, want.HostConfig.NetworkMode)
		}
	}
	t.Logf("%d lines, %d of them refused by the engine's program", len(lines), refused)
	if refused > len(lines)*3/4 {
		t.Error("the program refused nearly everything: the test compares little")
	}
}
