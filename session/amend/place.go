package amend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/exitcode"
	"github.com/org/claude-sandbox/internal/filelock"
	"github.com/org/claude-sandbox/internal/userdir"
	"github.com/org/claude-sandbox/session/recipe"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
	"github.com/org/claude-sandbox/templates/adopt"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

// ErrBusy reports that another command changes settings at this moment.
var ErrBusy = errors.New("another command changes settings at this moment")

// lockWait bounds waiting for such a command, which takes some milliseconds.
const lockWait = 10 * time.Second

// Place is a settings file that requests are about.
type Place struct {
	File string // may be missing
	Lock string // a file in the user's state folder, out of the project's reach
	// Project is the folder that the file belongs to, Trust what its user has
	// accepted; "" and nil for the user's own file.
	Project string
	Trust   *trust.Store
	// Options says that File is the project's devcontainer.json, where the options of
	// the firewall Feature are the policy.
	Options bool
}

// OfProject returns the place of a project's settings: its sandbox.jsonc, or where only the
// firewall Feature in its devcontainer.json has a policy, that one's options. own is the
// user's folder. Errors carry exit codes.
func OfProject(own userdir.Dir, project, lock string) (p Place, err error) {
	p.Lock = lock
	if p.Project, err = filepath.Abs(project); err == nil {
		p.Project, err = filepath.EvalSymlinks(p.Project)
	}
	if err == nil {
		err = workspace.CheckFolder(p.Project)
	}
	if err != nil {
		return p, exitcode.With(exitcode.NoInput, err)
	}
	p.File = filepath.Join(project, ".devcontainer", devcontainer.SettingsName)
	if _, err := os.Lstat(p.File); errors.Is(err, fs.ErrNotExist) {
		if policy, _ := adopt.Policy(scaffold.Folder(project)); policy != nil {
			p = p.OptionsOf()
		}
	}
	if p.Trust, err = trust.Open(own, p.Project); err != nil {
		return p, exitcode.With(exitcode.Refused, err)
	}
	return p, nil
}

// WithCode gives an error of Edit or Preview its exit code.
func WithCode(err error) error {
	switch {
	case errors.Is(err, settings.ErrLink):
		return exitcode.With(exitcode.Refused, err)
	case errors.Is(err, ErrBusy), errors.Is(err, trust.ErrBusy), errors.Is(err, atomicfile.ErrChanged):
		return exitcode.With(exitcode.Locked, diag.OrHint(err, "nothing was changed: try again"))
	case errors.Is(err, fs.ErrPermission), errors.Is(err, os.ErrInvalid):
		return exitcode.With(exitcode.CantWrite, err)
	}
	return exitcode.With(exitcode.Config, err)
}

// newFile is what an edit begins with where there is no file.
const newFile = "{\n}\n"

// Read reads the file, or a new one's beginning where it is missing. A file that is
// not valid is an error with the first mistake. With Options it is the options in the
// form of a settings file.
func (p Place) Read() (*settings.File, error) {
	if p.Options {
		_, file, err := p.readOptions()
		return file, err
	}
	file, err := settings.ReadFile(p.File)
	if errors.Is(err, fs.ErrNotExist) {
		return settings.ParseFile(p.File, []byte(newFile), settings.NoFiles), nil
	}
	if err == nil && file.Settings == nil {
		err = diag.WithHint(file.Err(), "sbx-devc validate %s shows everything that is wrong", p.File)
	}
	return file, err
}

// Edit carries a request out in the file: whole or not at all, with its permissions,
// and not over what somebody else wrote meanwhile. trusted reports that the user has
// accepted the file as it is now: he had accepted it before, or it is new. Errors are
// those of Read and of the request's judge, ErrBusy and the file system's.
func (p Place) Edit(r Request) (edit *Edit, trusted bool, err error) {
	lock, err := hold(p.Lock)
	if err != nil {
		return nil, false, err
	}
	defer lock.Close()
	if p.Options {
		edit, err = p.editOptions(r)
		return edit, true, err
	}
	file, err := p.Read()
	if err != nil {
		return nil, false, err
	}
	if edit, err = p.judge(file, r); err != nil {
		return nil, false, err
	}
	if !bytes.Equal(edit.Before, edit.After) {
		if err := p.write(edit); err != nil {
			return nil, false, fmt.Errorf("writing the settings: %w", err)
		}
	}
	if err := edit.Joining.write(p); err != nil {
		return edit, false, fmt.Errorf("writing the dev container's network: %w", err)
	}
	if p.Trust != nil {
		trusted, err = p.keepTrust(file, edit)
	}
	return edit, trusted, err
}

func (p Place) write(edit *Edit) error {
	_, err := os.Lstat(p.File)
	if !errors.Is(err, fs.ErrNotExist) {
		return atomicfile.Replace(p.File, edit.Before, edit.After)
	}
	if err := os.MkdirAll(filepath.Dir(p.File), 0o755); err != nil {
		return err
	}
	return atomicfile.WriteBytes(p.File, 0o644, edit.After)
}

// keepTrust lets the user's own edit be no reason to ask him about the file. The
// bytes that were judged and written are remembered, and none are read again.
func (p Place) keepTrust(file *settings.File, edit *Edit) (trusted bool, err error) {
	project, err := trust.Project(p.Project)
	if err != nil {
		return false, err
	}
	image := recipe.Read(p.Project)
	old := recipe.Accepted(file, image, edit.After)
	const config = recipe.ImagePrefix + scaffold.ConfigPath
	joins := edit.Joining.Changes() && bytes.Equal(old[config], edit.Joining.After)
	if joins {
		old = old.With(config, edit.Joining.Before)
	}
	now := old.With(filepath.Base(p.File), edit.After)
	if joins {
		now = now.With(config, edit.Joining.After)
	}
	if !bytes.Equal(edit.Before, edit.After) && string(edit.Before) == newFile {
		if old = recipe.Accepted(nil, image, edit.After); len(old) == 0 {
			return true, p.Trust.Accept(project, now, "allow")
		}
	}
	return p.Trust.Keep(project, old, now, "allow")
}

// hold takes the lock at path, which is made with its folder.
func hold(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, ErrBusy)
	defer cancel()
	return filelock.Wait(ctx, path)
}
