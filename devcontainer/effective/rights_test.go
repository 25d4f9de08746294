package effective_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// rightsOf lists what validate judges of a project without Compose, by place.
func rightsOf(p *devcontainer.Project) map[string]bool {
	root := p.Config.Root
	places := map[string]bool{}
	for _, r := range rights.List(rights.Sources{Config: p.Config, Args: rights.RunOptions.Parse(root.Member("runArgs")),
		Metadata: func(id string) *jsonc.Document {
			name, ok := p.Path(path.Join(id, devcontainer.FeatureName))
			if !ok {
				return nil
			}
			src, err := p.Tree.Read(name)
			if err != nil {
				return nil
			}
			doc, _ := jsonc.Parse(name, src)
			return doc
		}}) {
		line, column := r.Place.Doc.Position(r.Place.Start)
		places[fmt.Sprintf("%s:%d:%d", r.Place.Doc.File, line, column)] = true
	}
	return places
}

// disagree returns what effective shows and the rights lack: mounts,
// capabilities, variables, options.
func disagree(t *testing.T, config string) (missing []string, compared int) {
	t.Helper()
	err := devcontainer.Open(config, func(p *devcontainer.Project) error {
		if p.Config.Root == nil || p.Config.Root.Kind != jsonc.Object || p.Config.Root.Member("dockerComposeFile") != nil {
			return nil
		}
		result, err := effective.Compute(p, effective.Options{Host: effective.Host{Workspace: filepath.Dir(config), Config: config}})
		if err != nil {
			return nil // the reference implementation refuses it
		}
		places := rightsOf(p)
		for pointer, origins := range result.Origins {
			name, _, _ := strings.Cut(strings.TrimPrefix(pointer, "/"), "/")
			switch name {
			case "privileged", "capAdd", "securityOpt", "mounts", "containerEnv", "remoteEnv", "containerUser":
			default:
				continue
			}
			for _, o := range origins {
				if v := result.At(pointer); o.File == "" || v == nil {
					continue // of an image's label; taken out
				}
				compared++
				if at := fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Column); !places[at] {
					missing = append(missing, fmt.Sprintf("%s (%s): %v", pointer, at, result.At(pointer)))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return missing, compared
}

// Each right that effective shows is in validate's list of rights, at
// the same place: the two cannot contradict each other.
func TestRightsAreThoseOfTheEffectiveConfiguration(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		".devcontainer/devcontainer.json": `{"image": "a:1", "privileged": true, "capAdd": ["SYS_ADMIN"], "containerEnv": {"A": "b"}, ` +
			`"remoteEnv": {"C": "d", "E": null},
			"mounts": ["type=bind,source=/a,target=/b", {"type": "bind", "source": "/c", "target": "/d"}], "features": {"./tool": ` +
			`{}}, "containerUser": "dev"}`,
		".devcontainer/tool/devcontainer-feature.json": `{"id": "tool", "version": "1.0.0", "name": "T", "privileged": true, "capAdd": ` +
			`["NET_RAW"], "securityOpt": ["label=disable"],
			"mounts": ["type=bind,source=/tmp/.X11-unix,target=/tmp/.X11-unix"], "dependsOn": {"./other": {}}}`,
		".devcontainer/other/devcontainer-feature.json": `{"id": "other", "version": "1.0.0", "name": "O", "mounts": [{"type": "bind", ` +
			`"source": "/", "target": "/host"}]}`,
	} {
		full := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	missing, compared := disagree(t, filepath.Join(dir, ".devcontainer", "devcontainer.json"))
	if len(missing) > 0 || compared < 12 {
		t.Errorf("compared %d; the rights lack %s", compared, strings.Join(missing, "\n"))
	}
}

// The same on real files.
func TestRightsAreThoseOfTheEffectiveConfigurationOnTheCorpus(t *testing.T) {
	corpus := testenv.Corpus(t, "corpus")
	files, all := 0, 0
	err := filepath.WalkDir(corpus, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Name() != "devcontainer.json" && d.Name() != ".devcontainer.json" {
			return err
		}
		missing, compared := disagree(t, name)
		if len(missing) > 0 {
			t.Errorf("%s: the rights lack %s", name, strings.Join(missing, "\n"))
		}
		files, all = files+1, all+compared
		return nil
	})
	if err != nil || files < 100 || all < 50 {
		t.Errorf("%d files, %d rights: %v", files, all, err)
	}
	t.Logf("%d files, %d rights", files, all)
}
