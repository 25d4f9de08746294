package enginetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// SearchMemory looks for texts in the memory and the environment of all processes of a
// container.
func SearchMemory(t *testing.T, docker, container string, texts ...string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	first, err := exec.Command(docker, "inspect", "--format", "{{.State.Pid}}", container).Output()
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink("/proc/" + strings.TrimSpace(string(first)) + "/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	all, _ := filepath.Glob("/proc/[0-9]*/ns/mnt")
	for _, link := range all {
		if at, err := os.Readlink(link); err != nil || at != namespace {
			continue
		}
		proc := filepath.Dir(filepath.Dir(link))
		search := func(text []byte) {
			for _, want := range texts {
				if bytes.Contains(text, []byte(want)) {
					found[want] = true
				}
			}
		}
		environ, _ := os.ReadFile(proc + "/environ")
		search(environ)
		maps, _ := os.ReadFile(proc + "/maps")
		mem, err := os.Open(proc + "/mem")
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(maps)) {
			fields := strings.Fields(line)
			from, to, _ := strings.Cut(fields[0], "-")
			begin, err := strconv.ParseInt(from, 16, 64)
			end, err2 := strconv.ParseInt(to, 16, 64)
			if err != nil || err2 != nil || !strings.HasPrefix(fields[1], "rw") || end-begin > 256<<20 {
				continue
			}
			buffer := make([]byte, end-begin)
			n, _ := mem.ReadAt(buffer, begin)
			search(buffer[:n])
		}
		mem.Close()
	}
	return found
}
