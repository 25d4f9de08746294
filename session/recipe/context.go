package recipe

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/imagebuild"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/filekind"
)

// readBuild reads a Dockerfile and what it takes from the folder context. Both are
// relative to the project.
func (r *Recipe) readBuild(root *os.Root, name, context string) (unusable string) {
	if !filepath.IsLocal(filepath.FromSlash(name)) || !filepath.IsLocal(filepath.FromSlash(context)) {
		return "its Dockerfile or build context lies outside of the project"
	}
	text, err := r.readOnce(root, name, maxFile)
	if err != nil {
		return fmt.Sprintf("its Dockerfile %s cannot be read (%v)", name, diag.WithoutPath(err))
	}
	r.Dockerfile = name
	r.Content[name] = text
	ignored, err := r.readIgnore(root, context)
	if err != nil {
		return fmt.Sprintf("its .dockerignore cannot be read (%v)", diag.WithoutPath(err))
	}
	for _, source := range taken(dockerfile.Parse(name, text, dockerfile.Options{})) {
		if err := r.take(root, context, source, ignored); err != nil {
			return fmt.Sprintf("its build context %s cannot be taken: %v", context, diag.WithoutPath(err))
		}
	}
	return ""
}

// readIgnore reads the .dockerignore of the context, which the builder heeds too.
func (r *Recipe) readIgnore(root *os.Root, context string) (imagebuild.Ignore, error) {
	const name = ".dockerignore"
	text, err := r.readOnce(root, path.Join(context, name), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return imagebuild.Ignore{}, nil
	}
	if err != nil {
		return imagebuild.Ignore{}, err
	}
	ignored, err := imagebuild.ParseIgnore(text)
	if err == nil {
		r.add(context, imagebuild.File{Name: name, Data: text})
	}
	return ignored, err
}

// taken returns what a Dockerfile takes from its context, as paths relative to it
// that may name folders; "." is all of it.
func taken(f *dockerfile.File) (sources []string) {
	add := func(source string) {
		if strings.Contains(source, "://") || strings.HasPrefix(source, "git@") {
			return // from the network, as the Dockerfile says
		}
		if at := strings.IndexAny(source, "*?[$\\"); at >= 0 { // a pattern, or a variable: the folder that holds all of it
			source = path.Dir(source[:at] + "x")
		}
		source = strings.TrimPrefix(path.Clean("/"+source), "/")
		source = cmp.Or(source, ".")
		if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	for _, stage := range f.Stages {
		for _, i := range stage.Instructions {
			switch c := i.Command.(type) {
			case *instructions.CopyCommand:
				if c.From == "" {
					for _, source := range c.SourcePaths {
						add(source)
					}
				}
			case *instructions.AddCommand:
				for _, source := range c.SourcePaths {
					add(source)
				}
			case *instructions.RunCommand:
				for _, m := range instructions.GetMounts(c) {
					if m.Type == instructions.MountTypeBind && m.From == "" {
						add(m.Source)
					}
				}
			case *instructions.OnbuildCommand:
				add(".")
			}
		}
	}
	return sources
}

// take reads a file or a folder of the context. One that is missing is the
// builder's to complain about.
func (r *Recipe) take(root *os.Root, context, source string, ignored imagebuild.Ignore) error {
	return r.walk(root, context, source, ignored, func(f imagebuild.File) error {
		switch {
		case r.has(f.Name):
			return nil
		case strings.HasPrefix(strings.ToLower(f.Name), strings.ToLower(DockerfileName)):
			return fmt.Errorf("%s has the name that a run gives to the Dockerfile", f.Name)
		}
		r.add(context, f)
		return nil
	})
}

// walk reads the files of a folder, below top and source, within the bounds.
func (r *Recipe) walk(root *os.Root, top, source string, ignored imagebuild.Ignore, add func(imagebuild.File) error) error {
	return fs.WalkDir(root.FS(), path.Join(top, source), func(name string, entry fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(strings.TrimPrefix(name, top), "/")
		if top == "." {
			rel = name
		}
		out, below := false, false
		if rel != "" && rel != "." {
			out, below = ignored.LeavesOut(rel)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case below && entry.IsDir():
			return fs.SkipDir
		case out && !entry.IsDir():
			return nil
		case entry.IsDir():
			if entry.Name() == ".git" {
				return fs.SkipDir // changes all the time, and is not readable
			}
			return nil
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s is no file", rel)
		}
		_, again := r.read[path.Clean(name)]
		data, err := r.readOnce(root, name, maxBytes)
		if err != nil {
			return err
		}
		if !again {
			r.files++
			r.bytes += len(data)
		}
		switch {
		case r.files > maxFiles:
			return fmt.Errorf("it has more than %d files", maxFiles)
		case r.bytes > maxBytes:
			return fmt.Errorf("it has more than %d MiB", maxBytes>>20)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		return add(imagebuild.File{Name: rel, Executable: info.Mode()&0o111 != 0, Data: data})
	})
}

// readOnce is filekind.ReadIn for a file that may decide in two places, with the same bytes.
func (r *Recipe) readOnce(root *os.Root, name string, limit int64) (text []byte, err error) {
	name = path.Clean(name)
	text, ok := r.read[name]
	if !ok {
		if text, err = filekind.ReadIn(root, name, limit); err == nil {
			r.read[name] = text
		}
	}
	return text, err
}

func (r *Recipe) has(rel string) bool {
	return slices.ContainsFunc(r.context, func(f imagebuild.File) bool { return f.Name == rel })
}

func (r *Recipe) add(context string, f imagebuild.File) {
	r.context = append(r.context, f)
	r.accept(context, f)
}

// accept makes a file of a folder a part of what is accepted.
func (r *Recipe) accept(folder string, f imagebuild.File) {
	name := path.Join(folder, f.Name)
	if f.Executable {
		name += Executable
	}
	r.Content[name] = f.Data
}
