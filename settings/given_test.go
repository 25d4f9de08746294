package settings_test

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/settings"
)

// Values that are given one by one are read as a file is, and each mistake names its giver.
func TestGivenSettings(t *testing.T) {
	files := map[string]string{"hosts.txt": "# ours\nb.example # why\n\n c.example:8443\n", "bad.txt": "ok.example\n*\n"}
	g := settings.Given{Read: func(name string) ([]byte, error) {
		if text, ok := files[name]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("no such file")
	}}
	g.Mode("--network", "allowlist")
	g.Entries("allow", "--allow", []string{"a.example", "@hosts.txt"})
	g.Entries("deny", "--deny", []string{"d.example"})
	g.EnvPrefixes("--env-prefix", []string{"MY_"})
	g.Memory("--memory", "4g")
	g.CPUs("--cpus", 1.5)
	s, bad := g.Accept()
	if bad != nil {
		t.Fatal(bad)
	}
	if want := []string{"a.example", "b.example", "c.example:8443"}; !slices.Equal(s.Network.Allow, want) {
		t.Errorf("allow is %q, want %q", s.Network.Allow, want)
	}
	if s.Limits.Memory != 4<<30 || s.Limits.CPUs != 1.5 || !slices.Equal(s.EnvPrefixes, []string{"MY_"}) ||
		!s.Policy().DecideName("b.example").Allowed() || s.Policy().DecideName("d.example").Allowed() {
		t.Errorf("got %+v", s.Settings)
	}

	wrong := settings.Given{Read: g.Read}
	wrong.Mode("--network", "open")
	wrong.Entries("allow", "--allow", []string{"a.example"})
	wrong.Entries("allow", "--whitelist", []string{"@bad.txt", "@none.txt"})
	wrong.Entries("presets", "--preset", []string{"nmp"})
	wrong.EnvPrefixes("--env-prefix", []string{"", "2X"})
	wrong.Memory("--memory", "4x")
	wrong.CPUs("--cpus", math.NaN())
	s, bad = wrong.Accept()
	if s != nil {
		t.Errorf("accepted: %+v", s)
	}
	for i, want := range []string{
		`--whitelist: cannot read the list "none.txt"`, `--env-prefix: "" is not the name`, `--env-prefix: "2X" is not the name`,
		`--memory: "4x" is not a size`,
		"--cpus: NaN is not a number", `--network: unknown mode "open"`, `--preset: unknown preset "nmp"`, "--whitelist: ",
	} {
		if i >= len(bad) || !strings.HasPrefix(bad[i].Error(), want) {
			t.Fatalf("got %v, want %q as number %d", bad, want, i)
		}
		if diag.HintOf(bad[i]) == "" {
			t.Errorf("%v lacks a hint", bad[i])
		}
	}
}

// A list file is the user's to name, and still bounded.
func TestGivenListsAreBounded(t *testing.T) {
	g := settings.Given{Read: func(string) ([]byte, error) { return []byte(strings.Repeat("a.example\n", 60_000)), nil }}
	g.Entries("allow", "--allow", []string{"@x", "@x", "@x"})
	if _, bad := g.Accept(); len(bad) != 1 || !strings.Contains(fmt.Sprint(bad), "more than 100000 lines") {
		t.Errorf("got %.200v", bad)
	}
}

// Without a reader, as in a workflow, an entry with "@" is no file's name.
func TestGivenWithoutFilesReadsNone(t *testing.T) {
	var g settings.Given
	g.Entries("allow", "input allowed_domains", []string{"@/etc/passwd"})
	if _, bad := g.Accept(); len(bad) != 1 || !strings.HasPrefix(bad[0].Error(), "input allowed_domains: ") {
		t.Errorf("got %v", bad)
	}
}

// A value is accepted as a flag exactly when it is accepted in a file, and means the
// same there.
func TestGivenValuesAreJudgedAsAFilesAre(t *testing.T) {
	for setting, values := range map[string][]string{
		"network.allow":   {"a.example", "*.a.example:22", "*", "", "a..b", "https://a.example", "192.0.2.0/24", "192.0.2.1/24", " a.example "},
		"network.private": {"a.example", "192.0.2.1", "a.example:5432"},
		"network.presets": {"npm", "nmp", ""},
		"network.mode":    {"none", "allowlist", "audit", "host", "open", "Audit"},
		"envPrefixes":     {"MY_", "", "2X", "a-b", "x"},
		"limits.memory":   {"4g", "512M", "1kib", "0", "-1", "4x", "NaN", "Inf", "1e3", "1e40"},
	} {
		for _, value := range values {
			section, name, nested := strings.Cut(setting, ".")
			text := fmt.Sprintf("[%q]", value)
			if name == "mode" || name == "memory" {
				text = fmt.Sprintf("%q", value)
			}
			if nested {
				text = fmt.Sprintf("{%q: %s}", name, text)
			}
			inFile, findings := settings.Parse("f", fmt.Appendf(nil, "{%q: %s}", section, text), settings.NoFiles)

			var g settings.Given
			switch setting {
			case "network.mode":
				g.Mode("flag", value)
			case "envPrefixes":
				g.EnvPrefixes("flag", []string{value})
			case "limits.memory":
				g.Memory("flag", value)
			default:
				g.Entries(name, "flag", []string{value})
			}
			given, bad := g.Accept()
			if (inFile == nil) != (given == nil) {
				t.Errorf("%s %q: in a file %v, as a flag %v", setting, value, findings, bad)
			} else if given != nil && !reflect.DeepEqual(given.Limits, inFile.Limits) || given != nil &&
				fmt.Sprint(given.Network, given.EnvPrefixes) != fmt.Sprint(inFile.Network, inFile.EnvPrefixes) {
				t.Errorf("%s %q is %+v in a file, and %+v as a flag", setting, value, inFile.Settings, given.Settings)
			}
		}
	}
}
