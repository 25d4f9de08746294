package lint_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/devcontainer/org"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// What is found does not depend on how many files are checked at once, nor does its order.
func TestManyFilesAtOnce(t *testing.T) {
	files := find(t, "testdata/probes", "devcontainer.json", ".devcontainer.json")
	policy, err := org.Load("policy", []byte(`{"properties": {"forbid": ["privileged"]}, "registries": {"allow": ["ghcr.io"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	check := func(cores int) *lint.Files {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
		all := &lint.Files{Org: policy}
		if err := all.Open(t.Context(), append(files, "nowhere")); err == nil {
			t.Error("a file that is not there is no error")
		}
		return all
	}
	one, many := check(1), check(8)
	if len(one.Findings) < 30 || one.Checked != many.Checked || !reflect.DeepEqual(one.Findings, many.Findings) ||
		len(one.Sources) < len(files) {
		t.Errorf("%d files: %d findings of %d sources, and %d at once", len(files), len(one.Findings), len(one.Sources), len(many.Findings))
	}
}

// Who ends the check does not wait for the rule that is at work, which may be a slow one.
func TestEndOfACheckAtWork(t *testing.T) {
	dir := project(t, map[string]string{".devcontainer/devcontainer.json": `{"image": "a:1", ` +
		"\"privileged\": true // sbx-ignore SBX402: a reason\n}"})
	ctx, end := context.WithCancelCause(t.Context())
	release := make(chan struct{})
	defer close(release)
	all := lint.Files{Held: func(string) bool {
		end(errors.New("ended"))
		<-release
		return false
	}}
	if err := all.Open(ctx, []string{filepath.Join(dir, ".devcontainer", "devcontainer.json")}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// BenchmarkFiles reads files from the disk and runs all rules, on one core and on all, with the memory that validate takes.
func BenchmarkFiles(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(lint.GCPercent))
	files := find(b, filepath.Join(testenv.Corpus(b, "corpus")), "devcontainer.json", ".devcontainer.json")
	for name, cores := range map[string]int{"one core": 1, "all cores": runtime.NumCPU()} {
		b.Run(name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(cores))
			for b.Loop() {
				var all lint.Files
				if err := all.Open(b.Context(), files); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N*len(files))/b.Elapsed().Seconds(), "files/s")
		})
	}
}
