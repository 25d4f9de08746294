package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/org/claude-sandbox/internal/atomicfile"
	"github.com/org/claude-sandbox/internal/diag"
)

// hintForPath says what to do about a path that cannot be used, which the
// operating system's own words leave open; "" for any other error.
func hintForPath(err error) string {
	var path *fs.PathError
	if link := (*os.LinkError)(nil); errors.As(err, &link) {
		path = &fs.PathError{Path: link.New, Err: link.Err}
	} else if !errors.As(err, &path) {
		return ""
	}
	switch {
	case errors.Is(path.Err, syscall.ENOSPC), errors.Is(path.Err, syscall.EDQUOT):
		return "the disk, or this user's part of it, is full"
	case errors.Is(path.Err, syscall.EROFS):
		return "the file system is mounted read-only"
	case path.Path == "":
		return "the path is empty; is a variable in the command line not set?"
	case errors.Is(path.Err, fs.ErrNotExist):
		return missingPath(path.Path)
	case errors.Is(path.Err, fs.ErrPermission):
		return "look at the owner and the mode of the file and of every folder above it: the user who runs this may not use it"
	case errors.Is(path.Err, syscall.ELOOP):
		return "a symbolic link in it leads to itself"
	case errors.Is(path.Err, syscall.EISDIR):
		return "that is a folder; name a file in it"
	case errors.Is(path.Err, atomicfile.ErrNotRegular):
		return "name a file: it is replaced whole, and so it cannot be a device or a pipe"
	case errors.Is(path.Err, syscall.ENOTDIR):
		return "a part of it is a file, not a folder"
	}
	return ""
}

// missingPath finds the first part of path that is not there, and a name next to
// it that was most likely meant.
func missingPath(path string) string {
	dir, name := filepath.Split(filepath.Clean(path))
	for {
		if dir == "" {
			dir = "."
		}
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) && filepath.Dir(filepath.Clean(dir)) != filepath.Clean(dir) {
			dir, name = filepath.Split(filepath.Clean(dir))
			continue
		}
		var known []string
		for _, e := range entries {
			known = append(known, e.Name())
		}
		if best := diag.Suggest(name, known); best != "" && best != name {
			return fmt.Sprintf("did you mean %s?", filepath.Join(dir, best))
		}
		break
	}
	if filepath.IsAbs(path) {
		return fmt.Sprintf("there is no %s in %s", name, filepath.Clean(dir))
	}
	here, err := os.Getwd()
	if err != nil {
		return fmt.Sprintf("there is no %s", name)
	}
	return fmt.Sprintf("there is no %s in %s", name, filepath.Join(here, dir))
}

// helpCommand is cobra's, but knows no help for what is no command.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Help about any command",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			var out []cobra.Completion
			if about, rest, err := cmd.Root().Find(args); err == nil && len(rest) == 0 {
				for _, c := range about.Commands() {
					if c.IsAvailableCommand() {
						out = append(out, cobra.CompletionWithDesc(c.Name(), c.Short))
					}
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())
			}
			if err != nil {
				word := args[len(args)-max(1, len(rest))]
				return exitWith(exitUsage, diag.WithHint(err, "%ssee '%s --help'", suggestion(word, "", commandNames(about)), about.CommandPath()))
			}
			about.InitDefaultHelpFlag()
			return about.Help()
		},
	}
}
