package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
	"github.com/org/claude-sandbox/workspace/copytree"
)

// TreeFolder is the folder in a run's own that holds the copy of the project.
const TreeFolder = "tree"

// tree is the copy of the project that the agent works in, in the modes that make one. The
// result's WorkTree says what became of it.
type tree struct {
	engine  *engine.Engine
	plan    *runplan.Plan
	folder  folder
	notices *notices
}

// make makes the copy, unless the mode is without one. It is a folder of the run's: what a
// killed run left is where all look for it, and the search for changes goes by the kernel's
// data of each file. For an engine that does not share this machine's files a volume gets
// its content, and the folder what the agent left there, see fetch.
func (t *tree) make(ctx context.Context) error {
	p := t.plan
	if !p.Place.Mode.IsCopy() && !p.Carried() {
		return nil
	}
	if p.Project.Dir != t.folder.path(TreeFolder) {
		return fmt.Errorf("%w: the copy of the project is to be in %s, and the run's folder is %s", runplan.ErrConfig,
			p.Project.Dir, t.folder)
	}
	uid, gid := -1, -1
	if os.Geteuid() == 0 {
		uid, gid = p.Place.Owner.UID, p.Place.Owner.GID
	}
	var err error
	if p.Place.Mode == workspace.Clone {
		err = t.clone(ctx, uid, gid)
	} else {
		var notes []string
		notes, err = copytree.Copy(ctx, p.Place.Folder, p.Project.Dir, copytree.Options{Empty: p.Place.Git.Paths(), UID: uid, GID: gid})
		p.Notes = append(p.Notes, notes...)
	}
	if err == nil {
		err = makePlaces(p, uid, gid)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", ErrNoStart, err), copytree.Remove(context.WithoutCancel(ctx), p.Project.Dir))
	}
	t.notices.result.WorkTree = TreeFolder
	return nil
}

// clone checks the repository's last commit out.
func (t *tree) clone(ctx context.Context, uid, gid int) error {
	p := t.plan
	inner := &p.Project.Git.Private[0].Stores[0]
	head, err := inner.Head()
	if err != nil {
		return err
	}
	if err := os.Mkdir(p.Project.Dir, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(string(t.folder), "clone-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	index := t.folder.path("clone.index")
	lacking, err := inner.CheckOut(ctx, head.Commit, work, p.Project.Dir, index)
	if err != nil {
		return diag.OrHint(err, "--workspace copy works on a copy of the folder")
	}
	inner.Index = index
	if uid >= 0 {
		err = filepath.WalkDir(p.Project.Dir, func(name string, _ fs.DirEntry, err error) error {
			return errors.Join(err, os.Lchown(name, uid, gid))
		})
	}
	on := head.Branch
	if on == "" {
		on = "no branch"
	}
	p.Notes = append(p.Notes, fmt.Sprintf("the agent works on a clone of %s (%s): uncommitted changes are not in it",
		head.Commit[:min(10, len(head.Commit))], on))
	for _, what := range lacking {
		p.Warnings = append(p.Warnings, "the clone lacks "+what+"; --workspace copy has them")
	}
	return err
}

// makePlaces makes what the copy may lack: places for the agent's git directories, and
// the folder in which it begins.
func makePlaces(p *runplan.Plan, uid, gid int) error {
	tree, err := os.OpenRoot(p.Project.Dir)
	if err != nil {
		return err
	}
	defer tree.Close()
	made := func(rel string, err error) error {
		if errors.Is(err, fs.ErrExist) {
			return nil
		}
		if err == nil && uid >= 0 {
			err = tree.Lchown(filepath.FromSlash(rel), uid, gid)
		}
		return err
	}
	for _, own := range p.Project.Git.Private {
		if own.Place == runplan.WorkspaceTarget+"/"+own.Path {
			if err := made(own.Path, tree.Mkdir(filepath.FromSlash(own.Path), 0o755)); err != nil {
				return err
			}
		}
	}
	for _, f := range p.Project.CarriedFiles() { // the copy has the host's
		name := filepath.FromSlash(f.Path)
		if err := errors.Join(tree.RemoveAll(name), tree.WriteFile(name, []byte(f.Text), 0o644)); err != nil {
			return err
		}
	}
	for _, f := range p.Project.Git.Files {
		file, err := tree.OpenFile(filepath.FromSlash(f.Path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if err == nil {
			err = file.Close()
		}
		if err := made(f.Path, err); err != nil {
			return err
		}
	}
	begins, _ := strings.CutPrefix(p.Agent.WorkingDir, runplan.WorkspaceTarget+"/")
	if begins == p.Agent.WorkingDir {
		return nil
	}
	for _, step := range workspace.Steps(begins) {
		if err := made(step, tree.Mkdir(filepath.FromSlash(step), 0o755)); err != nil {
			return err
		}
	}
	return nil
}

// settle says where the agent's work is. A copy in which nothing changed is removed.
func (t *tree) settle() {
	if t.notices.result.WorkTree == "" {
		return
	}
	_ = os.Remove(t.folder.path("clone.index"))
	if t.notices.result.Changes.Empty() {
		t.drop()
		return
	}
	if t.plan.Asked.InputsNotFlags {
		t.notices.say("the checkout is as it was: the agent's work is in patch_file")
		return
	}
	t.notices.say("the project is as it was: the agent's work is in a copy of it until you apply or discard it")
}

// drop removes a copy in which the agent has not worked.
func (t *tree) drop() {
	if t.notices.result.WorkTree == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanupTimeout)
	defer cancel()
	if err := copytree.Remove(ctx, t.plan.Project.Dir); err != nil {
		t.notices.warn("the copy of the project stays: " + err.Error())
		return
	}
	t.notices.result.WorkTree = ""
}
