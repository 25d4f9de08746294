// Package pathwalk follows a path as the kernel does, one entry at a time, so that
// a caller can judge each folder and symbolic link on the way.
//
//	Walk(dir, "a/link/b") ──► visit dir/a, dir/a/link, the link's target's entries, …, b ──► where it leads
package pathwalk

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// maxLinks is the kernel's own limit on one path (path_resolution(7)).
const maxLinks = 40

// Walk resolves name, from the folder dir if it is relative, and calls visit with
// each entry on the way and its Lstat before it goes on: folders, symbolic links,
// and the last entry. It returns where name leads, without symbolic links but those
// of dir itself. An error of visit ends the walk and is returned. With an error, also
// one of Lstat, end is the entry at which the walk ended. More than 40 links are
// ELOOP, as they are to the kernel.
func Walk(dir, name string, visit func(entry string, info fs.FileInfo) error) (end string, err error) {
	links := 0
	at, pending := from(dir, name)
	for len(pending) > 0 {
		part := pending[0]
		pending = pending[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		entry := filepath.Join(at, part)
		info, err := os.Lstat(entry)
		if err == nil {
			err = visit(entry, info)
		}
		if err != nil {
			return entry, err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = entry
			continue
		}
		if links++; links > maxLinks {
			return entry, &fs.PathError{Op: "open", Path: name, Err: syscall.ELOOP}
		}
		target, err := os.Readlink(entry)
		if err != nil {
			return entry, err
		}
		var more []string
		at, more = from(at, target)
		pending = append(more, pending...)
	}
	return at, nil
}

// from is the folder that a path begins at, and its parts.
func from(dir, name string) (at string, parts []string) {
	if filepath.IsAbs(name) {
		volume := filepath.VolumeName(name)
		dir, name = volume+string(filepath.Separator), name[len(volume):]
	}
	return dir, strings.Split(filepath.ToSlash(name), "/")
}
