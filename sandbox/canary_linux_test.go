package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/org/claude-sandbox/internal/test/canarytest"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/workspace"
)

// The canaries: a secret of each form, and a variable of the user's.
const (
	canarySecret   = `c4nary-Env/"7f3a9c"+Value`
	canaryFile     = "c4nary-File-5d1e\nsecond line of it 88aa\n"
	canaryVariable = "c4nary-Passed-0b77"
)

// canaryForms are texts that show a canary.
func canaryForms() (forms []string) {
	for _, c := range []string{canarySecret, canaryFile, canaryVariable} {
		forms = append(forms, canarytest.Forms(c)...)
	}
	return append(forms, "second line of it 88aa", "c4nary")
}

// searchCanaries fails the test when a text has a canary.
func searchCanaries(t *testing.T, where string, text []byte) {
	t.Helper()
	canarytest.Text(t, where, text, canaryForms())
}

// searchContainers looks at what the engine and the machine tell of the run's containers.
func searchContainers(t *testing.T, id string) {
	t.Helper()
	for _, name := range []string{runplan.FirewallContainer(id), runplan.AgentContainer(id)} {
		for _, command := range []string{"inspect", "logs", "diff", "top"} {
			out, _ := exec.Command("docker", command, name).CombinedOutput() // an agent's container has no log
			searchCanaries(t, "docker "+command+" "+name, out)
		}
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(lines) == 0 {
		t.Error("no process has a command line", err)
	}
	first, _ := exec.Command("docker", "inspect", "--format", "{{.State.Pid}}", runplan.AgentContainer(id)).Output()
	for _, file := range append(lines, "/proc/"+strings.TrimSpace(string(first))+"/environ") {
		text, err := os.ReadFile(file)
		if err == nil {
			searchCanaries(t, file, text)
		} else if strings.HasSuffix(file, "environ") && os.Geteuid() == 0 {
			t.Error(err)
		}
	}
	root, err := exec.Command("docker", "info", "--format", "{{.DockerRootDir}}").Output()
	if err != nil {
		t.Error(err)
	}
	// The engine's files on the disk: configurations, logs, volumes.
	for _, folder := range []string{"containers", "volumes"} {
		searchFolder(t, filepath.Join(strings.TrimSpace(string(root)), folder))
	}
}

func searchFolder(t *testing.T, folder string) {
	t.Helper()
	canarytest.Folder(t, folder, canaryForms())
}

// Attack: a secret of the run stays where others look later, or where others of the
// machine look while the agent works: it is in the environment and in a file in memory
// of the agent alone, and nothing of what the run keeps or says shows it.
func TestAttackTheSecretIsNowhereElse(t *testing.T) {
	e := connect(t)
	const show = `for v in "$CANARY_SECRET" "$(cat "$CANARY_KEY_FILE")" "$CANARY_PASSED"; do
	printf '%s\n' "$v"; printf '%s' "$v" | base64 -w0; echo; printf 'x%s' "$v" | base64; printf '%s' "$v" | od -An -tx1 | tr -d ' \n'; echo
	printf '%s\n' "$v" >&2; printf '%s' "$v" >&2; printf '%s' "$v" | sed 's/["\\]/\\&/g' | sed 's/["\\]/\\&/g'; echo
done
stat -c '%a %U %n' "$CANARY_KEY_FILE" "$(dirname "$CANARY_KEY_FILE")"; stat -f -c %T "$CANARY_KEY_FILE"; ` +
		`wc -c <"$CANARY_KEY_FILE"; env | grep -c CANARY_
printf 'k = "%s"\n' "$CANARY_SECRET" >leak.go; printf %s "$CANARY_SECRET" | base64 -w 9 >leak.txt; cp "$CANARY_KEY_FILE" leak.pem
ls -A /.sbx-secrets; cat /proc/1/environ; echo ready; cat >/dev/null; `
	for name, end := range map[string]struct {
		script  string
		signals int // that come when the search is over
	}{
		"it ends":      {"exit 3", 0},
		"it is killed": {"trap '' INT TERM; while :; do sleep 0.1; done", 2},
	} {
		t.Run(name, func(t *testing.T) {
			o := shell(show + end.script)
			o.Environ = []string{"CANARY_PASSED=" + canaryVariable, "OTHER=x"}
			o.User = settings.Settings{
				Secrets:     []settings.Secret{{Name: "CANARY_SECRET"}, {Name: "CANARY_KEY", From: "op://a/b/c", As: "file"}},
				EnvPrefixes: []string{"CANARY_"},
			}
			prompt, finish, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			signals := make(chan os.Signal, end.signals)
			tr := (&trial{
				options: o, prompt: prompt, secrets: map[string]string{"CANARY_SECRET": canarySecret, "CANARY_KEY": canaryFile},
				signals: signals,
				during: func(p *runplan.Plan, w *workspace.Workspace) {
					searchContainers(t, p.ID)
					finish.Close()
					for range end.signals {
						signals <- syscall.SIGTERM
					}
				},
			}).run(t, e)
			if want := map[int]int{0: 3, 2: 143}[end.signals]; tr.err != nil || tr.result.ExitCode != want {
				t.Fatalf("%v, %+v", tr.err, tr.result.Outcome)
			}
			// It has them, or the search proves nothing.
			want := fmt.Sprintf("400 agent /.sbx-secrets/CANARY_KEY\n700 agent /.sbx-secrets\ntmpfs\n%d\n3\n", len(canaryFile))
			if got := tr.stdout.String(); !strings.Contains(got, canarySecret+"\n") || !strings.Contains(got, canaryVariable+"\n") ||
				!strings.Contains(got, canaryFile) || !strings.Contains(got, want) || strings.Contains(got, ".pipe") {
				t.Errorf("the agent has %s", got)
			}
			searchFolder(t, tr.state)
			if names := tr.result.Changes.Secrets(); !slices.Equal(names, []string{"CANARY_KEY", "CANARY_SECRET"}) {
				t.Errorf("the files hold %q", names)
			}
			searchCanaries(t, "standard error", tr.stderr.Bytes())
			searchCanaries(t, "what was said", []byte(strings.Join(tr.said, "\n")))
			searchCanaries(t, "the plan", []byte(tr.plan.String()))
			if text, err := os.ReadFile(tr.result.Files.Transcript); err != nil || bytes.Count(text, []byte("[redacted]")) < 10 {
				t.Errorf("transcript: %s %v", text, err)
			}
		})
	}
}

// Attack: the agent starts without a secret that it needs, and takes another way.
func TestWithoutASecretTheAgentDoesNotStart(t *testing.T) {
	e := connect(t)
	o := shell("echo ready")
	o.User.Secrets = []settings.Secret{{Name: "A"}, {Name: "B"}}
	tr := (&trial{options: o, secrets: map[string]string{"A": canarySecret}}).run(t, e)
	if !errors.Is(tr.err, runplan.ErrNoKey) || tr.result.ExitCode != 78 || tr.stdout.String() != "" {
		t.Errorf("got %v, exit code %d: %s", tr.err, tr.result.ExitCode, tr.stdout.String())
	}
}
