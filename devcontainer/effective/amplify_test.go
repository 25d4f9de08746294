//go:build linux

package effective_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
)

// Bounds of what the effective configuration of a few small files may take.
const (
	mostMemory = 3 << 30 // bytes of address space, of which Go reserves some
	mostCPU    = 20      // seconds, on a machine that is slow
)

// inChild names the case that the test program runs when it starts itself.
const inChild = "SBX_EFFECTIVE_AMPLIFICATION"

// hostile is a small project that asks for much more than its size, with the
// metadata of its published Features, and what is then not known ("" = all is).
type hostile struct {
	text    string
	feature func(id string) string
	unknown string
}

func repeated(n int, format func(i int) string) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(format(i))
	}
	return b.String()
}

func hostiles() map[string]hostile {
	big := strings.Repeat("x", 400_000)
	many := strings.Repeat("${containerWorkspaceFolder}", 20_000)
	return map[string]hostile{
		"a large folder many times": {text: `{"image": "a:1", "workspaceFolder": "/` + big +
			`", "workspaceMount": "", "containerEnv": {"A": "` + many + `"}}`, unknown: "variables"},
		"a large variable of the host": {text: `{"image": "a:1", "containerEnv": {"A": "` + strings.Repeat("${localEnv:BIG}", 60_000) + `"}}`,
			unknown: "variables"},
		"a large default": {text: `{"image": "a:1", "containerEnv": {"A": "` +
			strings.Repeat("${localEnv:NONE:xxxxxxxxxx}", 30_000) + `"}}`},
		"the id many times": {text: `{"image": "a:1", "containerEnv": {"A": "` + strings.Repeat("${devcontainerId}", 50_000) + `"}}`},
		"many capabilities": {text: `{"image": "a:1", "capAdd": [` +
			repeated(80_000, func(i int) string { return fmt.Sprintf(`"A%d",`, i) }) + `"B"]}`},
		"many ports": {text: `{"image": "a:1", "forwardPorts": [` +
			repeated(90_000, func(i int) string { return fmt.Sprintf(`"a:%d",`, i) }) + `1]}`},
		"many mounts": {text: `{"image": "a:1", "mounts": [` + repeated(25_000,
			func(i int) string { return fmt.Sprintf(`"type=volume,source=v,target=/%d",`, i) }) + `"type=volume,source=v,target=/b"]}`},
		"many variables": {text: `{"image": "a:1", "containerEnv": {` +
			repeated(60_000, func(i int) string { return fmt.Sprintf(`"A%d": "x",`, i) }) + `"B": "x"}}`},
		"many tools": {text: `{"image": "a:1", "customizations": {` +
			repeated(60_000, func(i int) string { return fmt.Sprintf(`"A%d": {},`, i) }) + `"B": {}}}`},
		"a Feature with a large folder": {text: `{"image": "a:1", "workspaceFolder": "/` + big +
			`", "workspaceMount": "", "features": {"ghcr.io/a/b/c:1": {}}}`,
			feature: func(string) string { return `{"id": "c", "entrypoint": "` + many + `"}` }, unknown: "variables"},
		"many Features with a large folder": {text: `{"image": "a:1", "workspaceFolder": "/` + big + `", "workspaceMount": "", "features": {` +
			repeated(2_000, func(i int) string { return fmt.Sprintf(`"ghcr.io/a/b/c%d:1": {},`, i) }) + `"ghcr.io/a/b/c:1": {}}}`,
			feature: func(string) string { return `{"id": "c", "entrypoint": "${containerWorkspaceFolder}"}` }, unknown: "variables"},
		"a Feature that depends without end": {text: `{"image": "a:1", "features": {"ghcr.io/a/b/c:1": {}}}`, feature: func(id string) string {
			return `{"id": "c", "dependsOn": {"` + id + `a": {}, "` + id + `b": {}}}`
		}, unknown: "Features"},
	}
}

// Whatever a few small files and the registries that they name say, the
// effective configuration costs no more than a bounded amount of memory and
// work, and what is not worked out is said. Each case runs in a process of its
// own that the kernel ends at the bound.
func TestAmplificationOfTheEffectiveConfigurationIsBounded(t *testing.T) {
	if name := os.Getenv(inChild); name != "" {
		computeHostile(t, hostiles()[name])
		return
	}
	if testing.Short() {
		t.Skip("processes that work hard: left out by -short")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, h := range hostiles() {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(program, "-test.run=^"+"TestAmplificationOfTheEffectiveConfigurationIsBounded$", "-test.v")
			cmd.Env = append(os.Environ(), inChild+"="+name, "GOMAXPROCS=1")
			out, err := cmd.CombinedOutput()
			text := string(out)
			if err != nil {
				t.Fatalf("%v (%s): %s", err, cmd.ProcessState.UserTime(), text[:min(len(text), 600)])
			}
			usage := cmd.ProcessState.SysUsage().(*syscall.Rusage)
			t.Logf("%d MiB, %s", usage.Maxrss>>10, cmd.ProcessState.UserTime())
			if known := strings.Contains(text, "unknown: \n"); known != (h.unknown == "") || !strings.Contains(text, h.unknown) {
				t.Errorf("want %q among what is not known: %s", h.unknown, text[:min(len(text), 600)])
			}
		})
	}
}

// computeHostile is one case, within the bounds.
func computeHostile(t *testing.T, h hostile) {
	for what, most := range map[int]uint64{syscall.RLIMIT_AS: mostMemory, syscall.RLIMIT_CPU: mostCPU} {
		if err := syscall.Setrlimit(what, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			t.Fatal(err)
		}
	}
	result, err := effective.Compute(devcontainer.Parse("devcontainer.json", []byte(h.text)), effective.Options{
		Host: effective.Host{Workspace: "/src/p", Config: "/src/p/devcontainer.json",
			Env: map[string]string{"BIG": strings.Repeat("x", 100_000)}},
		Image:   func(string, bool) (effective.Image, error) { return effective.Image{}, nil },
		Feature: func(id string) ([]byte, error) { return []byte(h.feature(id)), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("unknown: %s\n", strings.Join(result.Unknown, "; "))
}
