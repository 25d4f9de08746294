package scaffold

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/carried"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/visible"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/templates"
	"github.com/org/claude-sandbox/templates/lock"
)

// settingsPath is where a dev container's settings are.
const settingsPath = ".devcontainer/" + devcontainer.SettingsName

// Draft is a dev container that is not written yet.
type Draft struct {
	Dir   Folder
	Files []templates.File // with the lock that describes them, sorted
	Seen  templates.Observation
	// Settings are those of the sandbox.jsonc among Files; nil = there is none.
	Settings *settings.Accepted
	// Services are those of the project's Compose file that may be reached, and Network is
	// their network, which the container joins and which must be there when it starts; "" =
	// it joins none.
	Services []string
	Network  string
	// taken says that the settings that are there, and nothing else of a dev container,
	// are in Files with all that they held.
	taken bool
	// moves says that a .devcontainer.json is there, which goes to oldPath: next to ours it
	// would be a second dev container, without a firewall, among which editors let one choose.
	moves bool
}

// New looks at the folder and makes the dev container for it. Its result has
// been validated, and none of its files would be written through a link.
// overwrite says whether a .devcontainer.json may be replaced. The error carries exitcode.Usage for options that a template refuses or that
// make the result invalid, NoInput and Refused for the folder's state.
func New(dir Folder, in lock.Input, overwrite bool) (*Draft, error) {
	moves := dir.isThere(plainPath)
	if err := movable(dir, moves, overwrite); err != nil {
		return nil, err
	}
	var gone []string
	if moves {
		gone = []string{plainPath}
	}
	seen, err := templates.Observe(string(dir), gone...)
	if err != nil {
		return nil, exitcode.With(exitcode.Refused, err)
	}
	in.Facts = seen.Facts
	var accepted *settings.Accepted
	files, err := render(in)
	if err == nil && !templates.MountsWorkspace(files) {
		if seen.GitFile {
			err := fmt.Errorf("%s cannot be cloned: its .git is a file (a linked worktree or a submodule), "+
				"and the repository that it names stays outside", dir)
			return nil, exitcode.With(exitcode.NoInput, diag.WithHint(err, "make a clone of its own with 'git clone', or use --topology single"))
		}
		seen = templates.Observation{} // nothing of the project is mounted writable
		in.Facts = seen.Facts
		files, err = render(in)
	}
	if err == nil {
		accepted, err = check(files, seen.Facts, len(in.Options) > 0)
	}
	if err != nil {
		return nil, err
	}
	if _, err := inTheWay(dir, files); err != nil {
		return nil, err
	}
	files, accepted, taken, err := takeOver(dir, files, accepted)
	if err != nil {
		return nil, err
	}
	d := &Draft{Dir: dir, Files: files, Seen: seen, Settings: accepted, Services: in.Private, taken: taken, moves: moves}
	if templates.MountsWorkspace(files) {
		d.Network = in.Network
	}
	return d, nil
}

// movable errs where a .devcontainer.json is there that must stay where it is.
func movable(dir Folder, there, overwrite bool) error {
	if !there {
		return nil
	}
	if _, err := os.Lstat(dir.Path(oldPath)); err == nil {
		err := fmt.Errorf("%s: %s and %s are there", dir, plainPath, oldPath)
		return exitcode.With(exitcode.Refused, diag.WithHint(err, "move one of them away: replaced, the first would become the second"))
	}
	if overwrite {
		return nil
	}
	err := fmt.Errorf("%s: %s %w", dir, plainPath, templates.ErrExists)
	return exitcode.With(exitcode.Refused, diag.WithHint(err,
		"move it to %s and use --extend, or replace it with --force, which keeps it as %s", ConfigPath, oldPath))
}

// Moves says which file Write gives another name, and why; "" = none.
func (d *Draft) Moves() string {
	if !d.moves {
		return ""
	}
	return fmt.Sprintf("%s becomes %s: next to the new one editors would offer it as a second dev container, without the firewall",
		plainPath, oldPath)
}

// takeOver puts the entries of settings that 'sbx-devc allow' and its like made before
// there was a dev container into those that come in their place.
func takeOver(dir Folder, files []templates.File, accepted *settings.Accepted) ([]templates.File, *settings.Accepted, bool, error) {
	at := slices.IndexFunc(files, func(f templates.File) bool { return f.Path == settingsPath })
	there := dir.Read(settingsPath)
	if at < 0 || there == nil || dir.Existing() != None {
		return files, accepted, false, nil
	}
	lists, ok := settings.OnlyLists(settingsPath, there)
	if !ok {
		return files, accepted, false, nil
	}
	made := &settings.File{Path: settingsPath, Source: files[at].Content, Settings: accepted}
	made, err := made.Amend(settings.Change{Add: lists})
	if err != nil {
		return nil, nil, false, err
	}
	files = slices.Clone(files)
	files[at].Content = made.Source
	return files, made.Settings, true, nil
}

// quoted are entries as a shell takes them; none holds a quote.
func quoted(entries []string) []string {
	for i, e := range entries {
		if strings.ContainsAny(e, "*[") {
			entries[i] = "'" + e + "'"
		}
	}
	return entries
}

// inTheWay is templates.InTheWay with the kind of its error: where no one may
// look, nothing can be written either.
func inTheWay(dir Folder, files []templates.File) ([]string, error) {
	existing, err := templates.InTheWay(string(dir), files)
	switch {
	case err == nil:
		return existing, nil
	case errors.Is(err, fs.ErrPermission):
		return nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("writing into %s: %w", dir, err))
	}
	return nil, exitcode.With(exitcode.Refused, err)
}

// Refused is the error with which Write would refuse files that are there in another
// form; nil = it writes.
func (d *Draft) Refused() error {
	existing, err := inTheWay(d.Dir, d.Dir.Changed(d.Files))
	if err != nil || len(existing) == 0 || d.taken && slices.Equal(existing, []string{settingsPath}) {
		return err
	}
	err = fmt.Errorf("%s: %s %w", d.Dir, strings.Join(existing, ", "), templates.ErrExists)
	hint := "look at the changes with --dry-run, overwrite with --force"
	if keep := d.Dir.KeepHint(); keep != "" {
		hint += "; " + keep
	}
	return exitcode.With(exitcode.Refused, diag.WithHint(err, "%s", hint))
}

// Write writes the draft, all of it or nothing, moves what Moves says, and returns the files that were
// not there in this form, and sentences about the result. Without overwrite a file
// that is there in another form is an error with exitcode.Refused.
func (d *Draft) Write(overwrite bool) (written []templates.File, notes []string, err error) {
	written = d.Dir.Changed(d.Files)
	existing, err := inTheWay(d.Dir, written)
	if err != nil {
		return nil, nil, err
	}
	if d.taken && slices.Equal(existing, []string{settingsPath}) {
		overwrite = true
		d.Seen.Notes = append(slices.Clone(d.Seen.Notes), "the entries of the "+settingsPath+" that was there are in the new one")
	}
	if !overwrite {
		if err := d.Refused(); err != nil {
			return nil, nil, err
		}
	}
	notes = slices.Clone(d.Seen.Notes)
	if d.moves {
		if err := os.Rename(d.Dir.Path(plainPath), d.Dir.Path(oldPath)); err != nil {
			return nil, nil, exitcode.With(exitcode.CantWrite, fmt.Errorf("moving the file that is replaced: %w", err))
		}
		defer func() {
			if err != nil {
				err = errors.Join(err, os.Rename(d.Dir.Path(oldPath), d.Dir.Path(plainPath)))
			}
		}()
		notes = append(notes, d.Moves())
	}
	dropped := d.dropped(written)
	made, err := d.Dir.Write(d.Seen, written, overwrite)
	return written, slices.Concat(notes, made, dropped), err
}

// dropped says which hosts and presets of the settings that are there are not in
// the ones that replace them: they may have been the user's own.
func (d *Draft) dropped(written []templates.File) (notes []string) {
	for _, f := range written {
		if f.Path != settingsPath {
			continue
		}
		old, _ := settings.Parse(f.Path, d.Dir.Read(f.Path), settings.NoFiles)
		if old == nil || d.Settings == nil {
			continue // it opened nothing, or is no file of settings
		}
		before, after := old.Network, d.Settings.Network
		var open, private []string
		for _, entry := range before.Allow {
			if name, _, _ := strings.Cut(entry, ":"); slices.Contains(before.Private, name) {
				private = append(private, entry)
			} else {
				open = append(open, entry)
			}
		}
		for _, list := range []struct {
			what        string
			before, now []string
		}{{"allow", open, after.Allow}, {"allow --private", private, after.Allow}, {"preset", before.Presets, after.Presets},
			{"deny", before.Deny, after.Deny}} {
			gone := slices.DeleteFunc(slices.Clone(list.before), func(entry string) bool { return slices.Contains(list.now, entry) })
			if len(gone) > 0 {
				notes = append(notes, fmt.Sprintf("the %s that was there had more; to have it again: sbx-devc %s %s",
					f.Path, list.what, visible.Line(strings.Join(quoted(gone), " "))))
			}
		}
	}
	return notes
}

// render makes the files, with the lock that describes them.
func render(in lock.Input) ([]templates.File, error) {
	l, files, err := lock.New(in, carried.Sums())
	if errors.Is(err, templates.ErrOption) || errors.Is(err, templates.ErrUnknown) {
		return nil, exitcode.With(exitcode.Usage, err)
	}
	if err != nil {
		return nil, err
	}
	files = append(files, templates.File{Path: lock.Path, Content: l.Encode()})
	slices.SortFunc(files, func(a, b templates.File) int { return strings.Compare(a.Path, b.Path) })
	return files, nil
}

// check validates the files before they are written: a template or an option must
// not be able to produce what validate would refuse. The template on its own is
// tested, so chosen options are the reason where there are some.
func check(files []templates.File, facts templates.Facts, chosen bool) (*settings.Accepted, error) {
	project, findings, err := templates.Check(files, facts)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		if chosen && f.Rule == "SBX822" {
			continue // a mirror of the init image, by whoever runs this; validate asks for the reason
		}
		if !f.Severity.AtLeast(diag.SeverityWarning) {
			continue
		}
		err := fmt.Errorf("the rendered %s is not valid: line %d: %s [%s]", f.File, f.Line, f.Message, f.Rule)
		if chosen {
			return nil, exitcode.With(exitcode.Usage, diag.WithHint(err, "nothing was written; an --option makes it so. %s", f.Hint))
		}
		return nil, diag.WithHint(err, "nothing was written; this is a defect of the template")
	}
	return project.Policy, nil
}
