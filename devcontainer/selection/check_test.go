package selection_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/selection"
	"github.com/org/claude-sandbox/internal/diag"
)

// check checks files of a folder, each by the nearest choice below it.
func check(t *testing.T, dir string, k selection.Check, files ...string) selection.Check {
	t.Helper()
	var err error
	if k.Choices, err = selection.NewChoices(selection.Options{Top: func(string) string { return dir }}); err != nil {
		t.Fatal(err)
	}
	for i, file := range files {
		files[i] = filepath.Join(dir, file)
	}
	if err := k.Open(t.Context(), files); err != nil {
		t.Fatal(err)
	}
	return k
}

const privileged = `{"image": "debian:12", "privileged": true, "name": 1}`

// Each project fails by its own word, and all of them by the flag's.
func TestCheckCountsByTheProjectsLimits(t *testing.T) {
	dir := write(t, map[string]string{
		"a/sbx-devc.jsonc":                  `{"validate": {"failOn": "note"}}`,
		"a/.devcontainer/devcontainer.json": privileged,
		"b/sbx-devc.jsonc":                  `{"validate": {"failOn": "error"}}`,
		"b/.devcontainer/devcontainer.json": privileged,
	})
	a, b := "a/.devcontainer/devcontainer.json", "b/.devcontainer/devcontainer.json"
	onlyA, onlyB := check(t, dir, selection.Check{}, a), check(t, dir, selection.Check{}, b)
	if onlyA.Bad != len(onlyA.Files.Findings) || onlyB.Bad == 0 || onlyB.Bad >= onlyA.Bad {
		t.Fatalf("%d and %d of %v", onlyA.Bad, onlyB.Bad, onlyA.Files.Findings)
	}
	if onlyA.Limit() != diag.SeverityNote || onlyB.Limit() != diag.SeverityError {
		t.Error(onlyA.Limit(), onlyB.Limit())
	}
	both := check(t, dir, selection.Check{}, b, a)
	if both.Bad != onlyA.Bad+onlyB.Bad || both.Limit() != diag.SeverityNote {
		t.Error(both.Bad, both.Limit())
	}
	flag := check(t, dir, selection.Check{FailOn: diag.SeverityError}, a, b)
	if flag.Bad != 2*onlyB.Bad || flag.Limit() != diag.SeverityError {
		t.Error(flag.Bad, flag.Limit())
	}
	if none := check(t, dir, selection.Check{}); none.Limit() != diag.SeverityWarning {
		t.Error(none.Limit())
	}
}

// A baseline holds what was found, also what was known before; then nothing is bad, and
// a finding that goes away is gone from the baseline of its own project alone.
func TestCheckRecordsBaselines(t *testing.T) {
	const file = ".devcontainer/devcontainer.json"
	dir := write(t, map[string]string{"a/sbx-devc.jsonc": `{}`, "a/" + file: privileged, "b/sbx-devc.jsonc": `{}`, "b/" + file: privileged})
	found := check(t, dir, selection.Check{}, "a/"+file)
	for range 2 { // the second time all of them are known
		k := check(t, dir, selection.Check{Record: true}, "a/"+file, "b/"+file)
		if k.Bad != 0 || len(k.Files.Findings) != 0 || len(k.Baselines()) != 2 {
			t.Fatal(k.Bad, k.Files.Findings, k.Baselines())
		}
		for _, b := range k.Baselines() {
			if b.Findings != len(found.Files.Findings) {
				t.Errorf("%s: %d findings, want %d", b.File, b.Findings, len(found.Files.Findings))
			}
			if err := os.WriteFile(b.File, b.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "b", file), []byte(`{"image": "debian:12", "privileged": true}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for files, want := range map[[2]string]map[string]int{
		{"a/" + file, "b/" + file}: {filepath.Join(dir, "b", selection.BaselineName): 1},
		{"a/" + file, "a/" + file}: {},
	} {
		k, gone := check(t, dir, selection.Check{}, files[:]...), map[string]int{}
		k.Gone(func(baseline string, findings int) { gone[baseline] = findings })
		if !maps.Equal(gone, want) || files[0] != files[1] && k.Bad != 0 {
			t.Errorf("%v: gone %v, want %v; %v", files, gone, want, k.Files.Findings)
		}
	}
}

// A value that is wrong in itself is judged by no other rule while people see that it is: "true" is true for the reference CLI.
func TestWhatIsNotShownHidesNothing(t *testing.T) {
	const text = `{"image": "debian:12", "privileged": "true"}`
	name := "a/.devcontainer/devcontainer.json"
	known, _ := json.Marshal(map[string]any{"schemaVersion": 1, "findings": []any{}})
	for settings, want := range map[string]bool{
		`{}`: false,
		`{"validate": {"rules": {"SBX301": "off"}}}`:           true,
		`{"validate": {"categories": {"correctness": "off"}}}`: true,
		`{"validate": {"rules": {"SBX301": "note"}}}`:          true,
		`{"validate": {"rules": {"SBX301": "error"}}}`:         false,
		`{"validate": {"baseline": "sbx-devc-baseline.json"}}`: true,
	} {
		dir := write(t, map[string]string{"a/sbx-devc.jsonc": settings, name: text, "a/sbx-devc-baseline.json": string(known)})
		if strings.Contains(settings, "baseline") {
			k := check(t, dir, selection.Check{Record: true}, name)
			if err := os.WriteFile(filepath.Join(dir, "a/sbx-devc-baseline.json"), k.Baselines()[0].Text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		found := check(t, dir, selection.Check{}, name).Files.Findings
		if got := slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule == "SBX402" }); got != want {
			t.Errorf("%s: SBX402 is %v, not %v: %v", settings, got, want, found)
		}
	}
}

// The same holds for the files that are judged with a configuration: local Features, and what a Template makes.
func TestWhatIsNotShownHidesNothingInOtherFiles(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"a/.devcontainer/devcontainer.json": {
			"a/.devcontainer/devcontainer.json":           `{"image": "debian:12", "features": {"./f": {}}}`,
			"a/.devcontainer/f/install.sh":                "true\n",
			"a/.devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0", "name": "f", "privileged": "true"}`},
		"a/devcontainer-template.json": {
			"a/devcontainer-template.json":      `{"id": "a", "version": "1.0.0", "name": "a", "description": "a"}`,
			"a/.devcontainer/devcontainer.json": `{"image": "debian:12", "privileged": "true"}`},
	} {
		for settings, want := range map[string]bool{
			`{}`: false,
			`{"validate": {"categories": {"correctness": "off"}}}`: true,
		} {
			files["a/sbx-devc.jsonc"] = settings
			found := check(t, write(t, files), selection.Check{}, name).Files.Findings
			if got := slices.ContainsFunc(found, func(f diag.Finding) bool { return f.Rule == "SBX402" }); got != want {
				t.Errorf("%s, %s: SBX402 is %v, not %v: %v", name, settings, got, want, found)
			}
		}
	}
}
