package devcontainer

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	slash "path"
	"path/filepath"
	"strings"
	"sync"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// ErrNone reports a folder without any configuration.
var ErrNone = errors.New("no dev container configuration")

// SettingsName is the settings file of the sandbox, next to devcontainer.json.
const SettingsName = "sandbox.jsonc"

// Discover lists the files that path names. A file is taken as what it is; one of a
// Template stands for the Template. The
// folder of a Template is that, and a folder with src/NAME of
// those and of Features holds a collection of them; a Feature counts, and in its folder
// as in any other all three places of the specification are searched: .devcontainer/devcontainer.json,
// .devcontainer.json and .devcontainer/FOLDER/devcontainer.json; only when none
// of them exists, a .devcontainer/sandbox.jsonc. The error wraps ErrNone when a
// folder has nothing and fs.ErrNotExist when path does not exist.
func Discover(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if template := templateOf(path); !info.IsDir() && template != "" {
		return []string{template}, nil
	}
	if ext := filepath.Ext(path); !info.IsDir() && (ext == ".yml" || ext == ".yaml") {
		return nil, diag.WithHint(fmt.Errorf("%w: %s is a Compose file", ErrNone, path),
			"name the devcontainer.json that names it, or its project")
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, diag.WithHint(fmt.Errorf("%w: %s is no regular file", ErrNone, path), "- reads standard input")
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return discoverIn(path)
}

// discoverIn is Discover for a folder.
func discoverIn(path string) ([]string, error) {
	if file := filepath.Join(path, TemplateName); filekind.IsRegular(file) {
		return []string{file}, nil
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	var found []string
	if file := filepath.Join(path, FeatureName); filekind.IsRegular(file) {
		found = append(found, file)
	}
	for _, name := range Places(disk{root: root}, ".") {
		found = append(found, filepath.Join(path, filepath.FromSlash(name)))
	}
	for _, name := range collection(disk{root: root}, ".") {
		found = append(found, filepath.Join(path, filepath.FromSlash(name)))
	}
	if s := filepath.Join(path, ".devcontainer", SettingsName); len(found) == 0 && filekind.IsRegular(s) {
		found = append(found, s)
	}
	if len(found) == 0 {
		return nil, whyNone(path, disk{root: root})
	}
	return found, nil
}

// unread says which dev containers of the folder home of root cannot be read: a tool opens them,
// and nothing is known about them. path is how home is named. A folder that cannot be looked into at all has none.
func unread(root *os.Root, home, path string) (failed error) {
	at := func(name string) string { return filepath.Join(path, filepath.FromSlash(name)) }
	in := func(name string) string { return slash.Join(home, name) }
	names := []string{".devcontainer/devcontainer.json", ".devcontainer.json"}
	if _, err := root.Lstat(filepath.FromSlash(in(".devcontainer"))); errors.Is(err, fs.ErrPermission) {
		return nil
	}
	entries, err := filekind.ListIn(root, in(".devcontainer"))
	if errors.Is(err, fs.ErrPermission) {
		return &fs.PathError{Op: "open", Path: at(".devcontainer"), Err: fs.ErrPermission}
	}
	for _, entry := range entries {
		names = append(names, slash.Join(".devcontainer", entry, "devcontainer.json"))
	}
	for _, name := range names {
		if (disk{root: root}).Kind(in(name)) != Nothing {
			continue
		}
		info, err := os.Stat(at(name))
		switch {
		case errors.Is(err, fs.ErrPermission):
			failed = errors.Join(failed, &fs.PathError{Op: "open", Path: at(name), Err: fs.ErrPermission})
		case err != nil || info.IsDir(): // no tool opens it
		case info.Mode().IsRegular():
			failed = errors.Join(failed, diag.WithHint(fmt.Errorf("%s is not checked: a link leads out of the project to it", at(name)),
				"name the file that it leads to"))
		default:
			failed = errors.Join(failed, &fs.PathError{Op: "read", Path: at(name), Err: filekind.ErrNotRegular})
		}
	}
	return failed
}

// whyNone says why a folder has no configuration, and what to do.
func whyNone(path string, d disk) error {
	if err := unusable(path); err != nil {
		return err
	}
	if _, err := filepath.Abs(path); err != nil {
		return err // the current folder was removed
	}
	if inDevcontainer(path) {
		return diag.WithHint(fmt.Errorf("%w in %s", ErrNone, path),
			"name the project's folder, the one with .devcontainer in it, or one file")
	}
	if near := nearName(d); near != "" {
		return diag.WithHint(&Misplaced{Folder: path, File: filepath.Join(path, filepath.FromSlash(near))}, "%s", placeMeant(near))
	}
	return diag.WithHint(fmt.Errorf("%w in %s", ErrNone, path), "sbx-devc init %s writes one", path)
}

// templateOf returns the metadata of the Template that a file is a part of, or "": its files
// are judged with its options filled in.
func templateOf(file string) string {
	dir := filepath.Dir(file)
	for range 3 { // TEMPLATE/.devcontainer/NAME/devcontainer.json
		if name := filepath.Join(dir, TemplateName); filekind.IsRegular(name) && file != name {
			return name
		}
		dir = filepath.Join(dir, "..")
	}
	return ""
}

// Misplaced is the error of a folder whose configuration has a name, or lies in a place, that no tool looks at. It is an ErrNone.
type Misplaced struct{ Folder, File string }

func (m *Misplaced) Error() string {
	name, err := filepath.Rel(m.Folder, m.File)
	if err != nil {
		name = m.File
	}
	return fmt.Sprintf("%v in %s: no tool reads %s", ErrNone, m.Folder, filepath.ToSlash(name))
}

func (m *Misplaced) Unwrap() error { return ErrNone }

// placeMeant is the hint about such a file.
func placeMeant(name string) string {
	if strings.Count(name, "/") > 2 {
		return "tools look one folder below .devcontainer: .devcontainer/NAME/devcontainer.json"
	}
	return "did you mean .devcontainer/devcontainer.json?"
}

// nearName returns a file that was probably meant as the configuration, or "": one by the name of a configuration, however it is
// written, in the project's folder, or in one by that name, or in one for tools.
func nearName(tree Tree) string {
	folders := []string{".devcontainer", "."}
	for _, entry := range tree.List(".") {
		if entry != ".devcontainer" && (means(entry) || entry == ".vscode" || entry == ".github" || entry == ".config") {
			folders = append(folders, entry)
		}
	}
	for _, dir := range folders {
		for _, entry := range tree.List(dir) {
			name := slash.Join(dir, entry)
			switch ext := slash.Ext(entry); ext {
			case ".json", ".jsonc", ".json5", ".yaml", ".yml":
				if means(strings.TrimSuffix(entry, ext)) && tree.Kind(name) == File {
					return name
				}
			}
			if dir == ".devcontainer" {
				for _, below := range tree.List(name) {
					if name := slash.Join(name, below, "devcontainer.json"); tree.Kind(name) == File {
						return name
					}
				}
			}
		}
	}
	return ""
}

// means reports whether a name is devcontainer in any case, with other signs or an s.
func means(name string) bool {
	letters := strings.Map(func(c rune) rune {
		if strings.ContainsRune(".-_ ", c) {
			return -1
		}
		return c
	}, strings.ToLower(name))
	return strings.TrimSuffix(letters, "s") == "devcontainer"
}

// unusable says why the configuration that folder seems to have is none.
func unusable(folder string) error {
	for _, name := range []string{".devcontainer/devcontainer.json", ".devcontainer.json", ".devcontainer"} {
		file := filepath.Join(folder, filepath.FromSlash(name))
		info, err := os.Lstat(file)
		switch {
		case errors.Is(err, fs.ErrPermission):
			return &fs.PathError{Op: "open", Path: file, Err: fs.ErrPermission}
		case err != nil:
		case info.Mode()&os.ModeSymlink != 0:
			return diag.WithHint(fmt.Errorf("%w: %s is a link", ErrNone, file),
				"it leads nowhere, to itself or out of the project; name the file it should lead to")
		case !info.IsDir() && !info.Mode().IsRegular():
			return &fs.PathError{Op: "read", Path: file, Err: filekind.ErrNotRegular}
		case info.IsDir() && filepath.Ext(name) != ".devcontainer":
			return diag.WithHint(fmt.Errorf("%w: %s is a folder", ErrNone, file),
				"it must be a file; a configuration with a name lies in .devcontainer/NAME/devcontainer.json")
		case !info.IsDir() && filepath.Ext(name) == ".devcontainer":
			return diag.WithHint(fmt.Errorf("%w: %s is a file", ErrNone, file), "it must be a folder with devcontainer.json in it")
		}
	}
	return nil
}

// collection lists the Features and Templates of a repository that publishes
// some in the folder home, in the layout of the specification.
func collection(tree Tree, home string) []string {
	var found []string
	for _, entry := range tree.List(slash.Join(home, "src")) {
		for _, base := range []string{FeatureName, TemplateName} {
			if name := slash.Join(home, "src", entry, base); tree.Kind(name) == File {
				found = append(found, name)
			}
		}
	}
	return found
}

// Places lists the configurations of the project in the folder home of tree,
// in the order of the specification.
func Places(tree Tree, home string) []string {
	folder := slash.Join(home, ".devcontainer")
	names := []string{slash.Join(folder, "devcontainer.json"), slash.Join(home, ".devcontainer.json")}
	for _, entry := range tree.List(folder) {
		names = append(names, slash.Join(folder, entry, "devcontainer.json"))
	}
	var found []string
	for _, name := range names {
		if tree.Kind(name) == File {
			found = append(found, name)
		}
	}
	return found
}

// inDevcontainer reports whether the folder is a .devcontainer or one of its
// folders, which no place of the specification is relative to.
func inDevcontainer(folder string) bool {
	full, err := filepath.Abs(folder)
	return err == nil && (filepath.Base(full) == ".devcontainer" || filepath.Base(filepath.Dir(full)) == ".devcontainer")
}

// Open makes a Project of the devcontainer.json at file on this machine and
// hands it to use; the Project's Tree is closed when use returns. The tree is
// the git repository around the file, or else its project folder.
func Open(file string, use func(*Project) error) error { return new(Opener).open(file, asIs, use) }

// Opener opens several configurations, and remembers of each folder above them whether it is a
// repository: one may hold thousands. Its zero value is ready, and safe for concurrent use.
type Opener struct{ repositories sync.Map } // by path: the repository's, "" for none

// Open is the package's Open.
func (o *Opener) Open(file string, use func(*Project) error) error { return o.open(file, asIs, use) }

// open is Open with the tree that view makes of the one on the disk, in which
// the configuration has the given name.
func (o *Opener) open(file string, view func(tree Tree, name string) Tree, use func(*Project) error) error {
	full, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	top := o.repository(filepath.FromSlash(topFolder(filepath.ToSlash(full))))
	name, err := filepath.Rel(top, full)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return err
	}
	defer root.Close()
	tree := disk{root: root, dir: slash.Dir(filepath.ToSlash(name))}
	if tree.dir != "." {
		if tree.folder, err = root.OpenRoot(filepath.FromSlash(tree.dir)); err == nil {
			defer tree.folder.Close()
		}
	}
	p, err := Load(view(tree, filepath.ToSlash(name)), filepath.ToSlash(name), file)
	if err != nil {
		// The tree's own name for it says less than the user's.
		var place *os.PathError
		if errors.As(err, &place) {
			err = &os.PathError{Op: place.Op, Path: file, Err: place.Err}
		}
		return err
	}
	p.Folder = filepath.Base(filepath.Dir(full))
	p.HomeName = filepath.Base(filepath.Join(top, filepath.FromSlash(p.Home)))
	return use(p)
}

// topFolder returns the folder that a file's project is in: of a Feature or a Template in src/NAME that with src.
func topFolder(file string) string {
	dir := slash.Dir(file)
	base, src := slash.Base(file), slash.Dir(dir)
	if above := slash.Dir(src); (base == FeatureName || base == TemplateName) && slash.Base(src) == "src" && slash.Dir(above) != above {
		return above
	}
	return projectFolder(dir)
}

// repository returns the nearest folder from dir upwards that holds .git, or
// dir when none does.
func (o *Opener) repository(dir string) string {
	if found := o.around(dir); found != "" {
		return found
	}
	return dir
}

// around is repository with "" when there is none.
func (o *Opener) around(dir string) string {
	if known, seen := o.repositories.Load(dir); seen {
		return known.(string)
	}
	found := dir
	if _, err := os.Lstat(filepath.Join(dir, ".git")); err != nil {
		found = ""
		if up := filepath.Dir(dir); up != dir {
			found = o.around(up)
		}
	}
	o.repositories.Store(dir, found)
	return found
}
