package runs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/credproxy/spending"
	"github.com/org/claude-sandbox/sandbox"
	"github.com/org/claude-sandbox/session/ledger"
)

// homeWith makes runs: id, project, and whether an audit log is there.
func homeWith(t *testing.T, note func(string), made ...[3]string) Home {
	t.Helper()
	state := t.TempDir()
	h := HomeOf(func(name string) string { return map[string]string{"XDG_STATE_HOME": state}[name] }, note)
	for _, r := range made {
		folder, err := h.Make(r[0])
		if err != nil {
			t.Fatal(err)
		}
		text, _ := json.Marshal(map[string]string{"folder": r[1]})
		if err := os.WriteFile(filepath.Join(folder, sandbox.SummaryFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if r[2] != "" {
			if err := os.WriteFile(filepath.Join(folder, sandbox.AuditFile), []byte(r[2]), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return h
}

const (
	first, second, third = "20260101-000000-aaaaaa", "20260102-000000-bbbbbb", "20260103-000000-cccccc"

	denied = `{"ts":"2026-01-02T03:04:05Z","verdict":"deny","layer":"dns","name":"evil.example","reason":"no entry"}` + "\n"
)

func TestNewestRunOfAProject(t *testing.T) {
	var said []string
	h := homeWith(t, func(line string) { said = append(said, line) }, [3]string{first, "/a", denied}, [3]string{second, "/b", denied},
		[3]string{third, "/a", ""})
	if err := os.Mkdir(filepath.Join(h.Dir(), "something else"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		withLog       bool
		project, want string
	}{{false, "/a", third}, {true, "/a", first}, {true, "/b", second}, {false, "", third}, {true, "", second}} {
		folder, err := h.newestOf(c.withLog, c.project)
		if err != nil || filepath.Base(folder) != c.want {
			t.Errorf("%+v: %s, %v", c, folder, err)
		}
	}
	if len(said) != 2 || !strings.Contains(said[0], "about "+first) ||
		!strings.Contains(said[0], "newer run, "+third+", has no audit log yet") {
		t.Errorf("said %q", said)
	}
	if _, err := h.newestOf(true, "/c"); err == nil || !strings.Contains(err.Error(), "no run of /c") {
		t.Errorf("a project without a run: %v", err)
	}
	if p := h.Projects(); len(p) != 2 || !p["/a"] || !p["/b"] {
		t.Errorf("projects %v", p)
	}
	var ids []string
	for id := range h.newest() {
		ids = append(ids, id)
	}
	if !slices.Equal(ids, []string{third, second, first}) {
		t.Errorf("runs %q", ids)
	}
}

// A word is a run's id, unless a file of that name is here.
func TestFindARunByItsName(t *testing.T) {
	h := homeWith(t, nil)
	t.Chdir(t.TempDir())
	if got := h.find(first); got != filepath.Join(h.Dir(), first) {
		t.Errorf("got %s", got)
	}
	if err := os.Mkdir(first, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{first, "../x", "20260101", ""} {
		if got := h.find(name); got != name {
			t.Errorf("%q is taken for %s", name, got)
		}
	}
	if id := NewID(); !idForm.MatchString(id) || id == NewID() {
		t.Errorf("a run is named %s", id)
	}
}

func TestLogsAreReadWithTheirPolicy(t *testing.T) {
	var said []string
	h := homeWith(t, func(line string) { said = append(said, line) }, [3]string{first, "/a", denied + "damaged\n"},
		[3]string{second, "/a", "no log\nat all\n"})
	if err := os.WriteFile(filepath.Join(h.Dir(), first, sandbox.PolicyFile),
		[]byte(`{"network": {"allow": ["ok.example"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	log, records, err := h.ReadLogs(t.Context(), []string{first}, "")
	if err != nil || len(records) != 1 || log.Title != first || log.Policy == nil || !log.Policy.DecideName("ok.example").Allowed() {
		t.Errorf("%+v, %d records, %v", log, len(records), err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "left out 1 line(s) that are no record") {
		t.Errorf("said %q", said)
	}
	if _, _, err := h.ReadLogs(t.Context(), nil, "/a"); err == nil || !strings.Contains(err.Error(), "is no audit log") {
		t.Errorf("the newest, which is no log: %v", err)
	}
	two, records, err := h.ReadLogs(t.Context(), []string{first, filepath.Join(h.Dir(), first, sandbox.AuditFile)}, "")
	if err != nil || len(records) != 2 || two.Policy != nil {
		t.Errorf("two logs have one policy: %+v, %d records, %v", two, len(records), err)
	}
	bad := filepath.Join(h.Dir(), first, sandbox.PolicyFile)
	if err := os.WriteFile(bad, []byte(`{"network": {"allow": ["*"]}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Log(t.Context(), "", first); err == nil || !strings.Contains(err.Error(), "the policy next to the audit log") {
		t.Errorf("a policy that is none: %v", err)
	}
}

// A list says of a success that the caller of the run did not hear of one.
func TestASuccessThatWasNotKeptIsNamed(t *testing.T) {
	h := runsWith(t, map[string]string{
		"20260101-000000-aaaaaa": `{"folder":"/p","conclusion":"success","exitCode":73}`,
		"20260102-000000-aaaaaa": `{"folder":"/p","conclusion":"success","exitCode":0}`,
	})
	list := h.List("/p")
	if len(list) != 2 || list[0].Outcome() != "success" || list[1].Outcome() != "success, exit code 73" {
		t.Errorf("%+v", list)
	}
}

// By run there is a row for each that is kept, by anything else for what was noted.
func TestUsage(t *testing.T) {
	h := homeWith(t, nil, [3]string{first, "/a"}, [3]string{second, "/b"}, [3]string{third, "/a"})
	summary := `{"folder": "/a", "meteredUsd": 0.5, "metered": {"requests": 3}}`
	if err := os.WriteFile(filepath.Join(h.Dir(), first, sandbox.SummaryFile), []byte(summary), 0o600); err != nil {
		t.Fatal(err)
	}
	rows, err := h.Usage("/a", ByRun, time.Time{})
	if err != nil || len(rows) != 2 || rows[0].Key != third || rows[1].Key != first || rows[1].USD != 0.5 || rows[1].Requests != 3 {
		t.Errorf("%+v, %v", rows, err)
	}
	if total := ledger.Total("2 runs", rows); total.Key != "2 runs" || total.USD != 0.5 || total.Requests != 3 {
		t.Errorf("%+v", total)
	}
	if err := h.Ledger(second, "/b").Add(spending.Spent{Model: "m", USD: 2}); err != nil {
		t.Fatal(err)
	}
	for project, want := range map[string]int{"": 1, "/b": 1, "/a": 0} {
		if rows, err := h.Usage(project, ledger.ByProject, time.Now().AddDate(0, 0, -1)); err != nil || len(rows) != want {
			t.Errorf("%q: %+v, %v", project, rows, err)
		}
	}
}
