package sandbox

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/redact"
	"github.com/org/claude-sandbox/internal/test/testenv"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// The agent reads why it was refused, in the firewall's own records. It can
// change nothing about them, and nothing else of the firewall's container is
// there: not its control socket, not its folders.
func TestAttackTheRecordsAsAWayToTheFirewall(t *testing.T) {
	e := connect(t)
	docker := testenv.Program(t, "docker")
	tr := (&trial{options: shell(`
getent hosts evil.example
until grep -q evil.example /run/sbx/audit.jsonl; do sleep 0.1; done
grep -o '"name":"evil.example"' /run/sbx/audit.jsonl | head -1
grep -q '"network"' /run/sbx/policy.json && echo "has the policy"
for attack in 'echo x >> /run/sbx/audit.jsonl' 'echo x > /run/sbx/policy.json' 'rm -f /run/sbx/audit.jsonl' 'mv ` +
		`/run/sbx/audit.jsonl /run/sbx/x' \
	'ln -s /etc /run/sbx/etc' 'mkdir /run/sbx/d' 'chmod 777 /run/sbx' 'mount -o remount,rw /run/sbx' 'umount /run/sbx' 'mv /run/sbx ` +
		`/run/x' 'rmdir /run/sbx'; do
	sh -c "$attack" 2>/dev/null && echo "DONE $attack"
done
find /run/sbx -not -type f -not -path /run/sbx | sed 's/^/OTHER /'
find /run/sbx -type f | sort | tr '\n' ' '
find / -name control.sock 2>/dev/null | sed 's/^/SOCKET /'
grep ' /run/sbx ' /proc/self/mountinfo
true`)}).run(t, e)
	out := tr.stdout.String()
	for _, broken := range []string{"DONE", "OTHER", "SOCKET"} {
		if strings.Contains(out, broken) {
			t.Errorf("%s in\n%s", broken, out)
		}
	}
	for _, want := range []string{`"name":"evil.example"`, "has the policy", "/run/sbx/audit.jsonl /run/sbx/policy.json "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s\n%s", want, out, tr.stderr.String())
		}
	}
	// Nothing stays on the engine.
	volume := regexp.MustCompile(`/volumes/([0-9a-f]{64})/`).FindStringSubmatch(out)
	if volume == nil {
		t.Fatalf("no volume in\n%s", out)
	}
	if text, err := exec.Command(docker, "volume", "inspect", volume[1]).CombinedOutput(); err == nil {
		t.Errorf("the volume is left: %s", text)
	}
}

// The records of a run name the agent's processes, by the numbers that they have
// in the agent's container, for names and for connections by address.
func TestTheRecordsOfARunNameTheProcess(t *testing.T) {
	e := connect(t)
	// On a busy machine the search for one may end in vain.
	tr := (&trial{options: shell(`
for i in 1 2 3 4 5; do
	sh -c 'echo "evil$1.example $$"; exec getent hosts evil$1.example' - $i
	bash -c 'echo "203.0.113.7$1 $$"; exec 3<>/dev/tcp/203.0.113.7$1/4444' - $i 2>/dev/null
done
true`)}).run(t, e)
	pids := map[string]string{}
	for line := range strings.Lines(tr.stdout.String()) {
		if host, pid, ok := strings.Cut(strings.TrimSpace(line), " "); ok && pids[host] == "" {
			pids[host] = pid
		}
	}
	if tr.result == nil || tr.result.Egress == nil {
		t.Fatalf("it said %q\n%s", tr.stdout.String(), tr.stderr.String())
	}
	names, addresses := 0, 0
	for _, row := range tr.result.Egress.Rows {
		p := row.Process
		if p == nil || p.PID == 0 {
			continue
		}
		if strconv.Itoa(p.PID) != pids[row.Host] || p.Exe == "" || p.Cmd == "" {
			t.Errorf("%s: process %+v, want %s", row.Host, p, pids[row.Host])
		}
		if strings.HasPrefix(row.Host, "evil") {
			names++
		} else {
			addresses++
		}
	}
	if names == 0 || addresses == 0 {
		var text strings.Builder
		_ = tr.result.Egress.WriteText(&text)
		t.Errorf("%d names and %d addresses have their process in\n%s", names, addresses, text.String())
	}
}

// A log that was full goes on in a new file: both are kept and reported, the
// older one first, with the policy and the page.
func TestBothPartsOfAFullLogAreCollected(t *testing.T) {
	e := connect(t)
	line := func(name string) []byte {
		return []byte(`{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"` + name + `","reason":"r"}` + "\n")
	}
	spec := engine.Spec{
		Name: "sbx-test-collect-" + strconv.Itoa(os.Getpid()), Image: testImage(t, e),
		Process: engine.Process{Entrypoint: []string{"sleep", "60"}}, Link: engine.Link{Network: "none"},
		Storage: engine.Storage{Volumes: []string{runplan.RecordsPath}},
	}
	for name, files := range map[string][]engine.File{
		"one file": {{Path: runplan.AuditPath, Mode: 0o644, Data: line("new.example")}},
		"both": {{Path: runplan.AuditPath, Mode: 0o644, Data: line("new.example")},
			{Path: runplan.AuditPath + ".1", Mode: 0o644, Data: line("old.example")}},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := e.Create(t.Context(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = e.Remove(context.Background(), id) }()
			if err := e.Fill(t.Context(), id, []string{runplan.RecordsPath}, archive(t, files)); err != nil {
				t.Fatal(err)
			}
			r := &run{engine: e, plan: &runplan.Plan{ID: "x"}, folder: folder(t.TempDir()), sidecar: &sidecar{id: id},
				redactor: redact.New(redact.Options{})}
			if err := r.collect(t.Context()); err != nil {
				t.Fatal(err)
			}
			want := []string{"new.example"}
			kept := string(line("new.example"))
			if len(files) == 2 {
				want, kept = append(want, "old.example"), string(line("old.example"))+kept
			}
			if got := r.result.Egress.DeniedHosts(); !slices.Equal(got, want) {
				t.Errorf("denied hosts %q, want %q", got, want)
			}
			if text, err := os.ReadFile(r.result.Files.Audit); err != nil || string(text) != kept {
				t.Errorf("kept %q (%v), want %q", text, err, kept)
			}
			for _, file := range []string{PolicyFile, "report.html"} {
				if info, err := os.Stat(r.folder.path(file)); err != nil || info.Size() == 0 {
					t.Errorf("%s: %v", file, err)
				}
			}
		})
	}
}

// archive packs files for a container's root.
func archive(t *testing.T, files []engine.File) io.Reader {
	t.Helper()
	var packed bytes.Buffer
	tw := tar.NewWriter(&packed)
	if err := errors.Join(engine.WriteTar(tw, files), tw.Close()); err != nil {
		t.Fatal(err)
	}
	return &packed
}
