package gitdir

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// Places in the containers.
const (
	// Volumes holds the volumes in the firewall's container, by their numbers.
	Volumes = "/.sbx-git"
	// objectsPlace holds what the agent's container has of the host's git
	// directories, by number: their objects, and LFS's next to them.
	objectsPlace = "/.sbx-host"
)

// Layout is what a run mounts so that no git directory of the host's can be
// written to.
type Layout struct {
	Private []Private `json:"private,omitempty"`
	Files   []File    `json:"files,omitempty"`
	Mounts  []Mount   `json:"mounts,omitempty"`
	Plain   []string  `json:"plain,omitempty"` // .git files that are mounted read-only as they are, below the workspace
}

// Private is a git directory of the agent's own, in a volume.
type Private struct {
	Path   string  `json:"path"`             // of the host's .git, below the workspace
	Host   string  `json:"host,omitempty"`   // the host's git directory; "" = there is no repository
	Volume string  `json:"volume"`           // in the firewall's container
	Place  string  `json:"place"`            // in the agent's
	Stores []Inner `json:"stores,omitempty"` // that it holds; none = it begins empty
}

// Inner is a git directory in a volume: the private one itself, or that of a
// submodule or linked worktree in it.
type Inner struct {
	Store
	Objects  string // the host's objects, in the agent's container; "" = those of the one around it
	Worktree string // the folder of its files there; "" = git finds it itself
	Links    []Link // to what the host has, in the container
	// Index is a file of ours that the agent begins with instead of the host's index and
	// of what the host is in the middle of; "" = the host's.
	Index string `json:",omitempty"`
}

// Link is a symbolic link in a git directory.
type Link struct{ Path, Target string }

// File is a .git file of ours over one of the host's.
type File struct {
	Path string `json:"path"` // below the workspace
	Text string `json:"text"`
}

// Mount is a folder of the host's that the agent's container has read-only.
type Mount struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// NewLayout decides how the repositories of a workspace are shown, which the
// agent sees at target. Without any change to facts the layout is the same.
func NewLayout(facts Facts, target string) Layout {
	var l Layout
	for _, r := range facts.Repositories {
		if r.File && len(r.Stores) == 0 {
			l.Plain = append(l.Plain, r.Path)
			continue
		}
		l.add(r, target)
	}
	for _, p := range facts.Pointers {
		l.point(p, target)
	}
	return l
}

// Volumes lists the places of the volumes in the firewall's container.
func (l Layout) Volumes() (places []string) {
	for _, p := range l.Private {
		places = append(places, p.Volume)
	}
	return places
}

func (l *Layout) add(r Repository, target string) {
	volume := path.Join(Volumes, strconv.Itoa(len(l.Private)))
	p := Private{Path: r.Path, Volume: volume, Place: path.Join(target, r.Path)}
	if r.File { // no folder can be mounted over it
		p.Place = volume
		l.Files = append(l.Files, File{r.Path, "gitdir: " + volume + "\n"})
	}
	for _, s := range r.Stores {
		inner := Inner{Store: s}
		if own := !strings.Contains("/"+s.Sub, "/worktrees/") || s.Dir == s.Common; own {
			host := path.Join(objectsPlace, strconv.Itoa(len(l.Mounts)))
			inner.Objects = l.mount(s, host, "objects")
			for _, big := range s.Big {
				place := l.mount(s, host, big)
				if big != lfsObjects { // git-lfs looks next to the objects that are behind ours
					inner.Links = append(inner.Links, Link{big, place})
				}
			}
		}
		if s.Sub != "" && s.Checkout != "" {
			inner.Worktree = path.Join(target, s.Checkout)
		}
		p.Stores = append(p.Stores, inner)
	}
	if len(r.Stores) > 0 {
		p.Host = r.Stores[0].Dir
	}
	l.Private = append(l.Private, p)
}

// mount shows a folder of the host's git directory below host and returns its place.
func (l *Layout) mount(s Store, host, name string) string {
	m := Mount{Source: filepath.Join(s.Common, filepath.FromSlash(name)), Target: path.Join(host, name)}
	l.Mounts = append(l.Mounts, m)
	return m.Target
}

// point shows a .git file: as it is if it leads to the right place in the
// container, too, or with nothing behind it; else as one of ours.
func (l *Layout) point(p Pointer, target string) {
	for _, own := range l.Private {
		for _, s := range own.Stores {
			if p.Dir == "" || s.Dir != p.Dir {
				continue
			}
			place := path.Join(own.Place, s.Sub)
			leads := filepath.ToSlash(p.Text)
			if !path.IsAbs(leads) {
				leads = path.Join(target, path.Dir(p.Path), leads)
			}
			if leads == place {
				break
			}
			l.Files = append(l.Files, File{p.Path, "gitdir: " + place + "\n"})
			return
		}
	}
	l.Plain = append(l.Plain, p.Path)
}
