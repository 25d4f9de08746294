package devcontainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// ErrNone reports a folder without any configuration.
var ErrNone = errors.New("no dev container configuration")

// SettingsName is the settings file of the sandbox, beside devcontainer.json.
const SettingsName = "sandbox.jsonc"

// Found is one configuration of a project: a devcontainer.json and what lies
// beside it. Either path may be "".
type Found struct {
	Config   string // path of the devcontainer.json
	Settings string // path of the sandbox.jsonc beside it
}

// Discover finds the configurations that path names. A file is taken as what
// it is; in a folder all three places of the specification are searched:
// .devcontainer/devcontainer.json, .devcontainer.json and
// .devcontainer/FOLDER/devcontainer.json. The error wraps ErrNone when a
// folder has none and fs.ErrNotExist when path does not exist.
func Discover(path string) ([]Found, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if filepath.Base(path) == SettingsName {
			return []Found{{Settings: path}}, nil
		}
		return []Found{{Config: path, Settings: beside(path)}}, nil
	}
	folder := filepath.Join(path, ".devcontainer")
	places := []string{filepath.Join(folder, "devcontainer.json"), filepath.Join(path, ".devcontainer.json")}
	entries, err := os.ReadDir(folder)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, e := range entries {
		if e.IsDir() {
			places = append(places, filepath.Join(folder, e.Name(), "devcontainer.json"))
		}
	}
	var found []Found
	for _, p := range places {
		if isFile(p) {
			found = append(found, Found{p, beside(p)})
		}
	}
	if s := filepath.Join(folder, SettingsName); len(found) == 0 && isFile(s) {
		found = append(found, Found{Settings: s})
	}
	if len(found) == 0 {
		return nil, diag.WithHint(fmt.Errorf("%w in %s", ErrNone, path), "sbx-devc init %s writes one", path)
	}
	return found, nil
}

func isFile(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.Mode().IsRegular()
}

func beside(config string) string {
	if p := filepath.Join(filepath.Dir(config), SettingsName); isFile(p) {
		return p
	}
	return ""
}

// CheckFile reads the devcontainer.json at path with what lies around it and
// judges it. The error says that the file could not be read.
func CheckFile(path string) ([]diag.Finding, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return Check(path, src, ContextOf(path, src)), nil
}

// ContextOf looks at what lies around the devcontainer.json at path, whose
// text is src.
func ContextOf(path string, src []byte) Context {
	folder := filepath.Dir(path)
	ctx := Context{Settings: beside(path) != ""}
	project := folder
	for _, up := range []string{folder, filepath.Dir(folder)} {
		if filepath.Base(up) == ".devcontainer" {
			ctx.InFolder, project = true, filepath.Dir(up)
		}
	}
	ctx.GitHere = isDir(filepath.Join(project, ".git"))
	ctx.GitAbove = !ctx.GitHere && gitAbove(project)
	doc, _ := jsonc.Parse(path, src)
	if doc == nil {
		return ctx
	}
	for _, p := range []string{"/build/dockerfile", "/dockerFile"} {
		if name, ok := doc.Root.Find(p).Str(); ok && !filepath.IsAbs(name) {
			// A Dockerfile that is missing or elsewhere only means less to see.
			if text, err := os.ReadFile(filepath.Join(folder, filepath.FromSlash(name))); err == nil && len(text) <= jsonc.MaxSize {
				ctx.Dockerfile = string(text)
			}
		}
	}
	return ctx
}

func isDir(p string) bool {
	info, err := os.Stat(p)
	return err == nil && info.IsDir()
}

func gitAbove(project string) bool {
	at, err := filepath.Abs(project)
	if err != nil {
		return false
	}
	for parent := filepath.Dir(at); parent != at; at, parent = parent, filepath.Dir(parent) {
		if isDir(filepath.Join(parent, ".git")) {
			return true
		}
	}
	return false
}
