package volumes

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/filelock"
)

// Store are the volumes that one user has on an engine. Both fields are required.
type Store struct {
	Engine *engine.Engine
	Dir    string // the user's cache folder; see images.CacheDir
}

// Kinds of volumes. A volume has the labels sbx-devc.KIND, its content, and
// sbx-devc.KIND.owner, its note.
const (
	Claude = "claude" // the program Claude Code
	Init   = "init"   // the program sbx-init
	Cache  = "cache"  // what package managers of a project fetched
)

func contentLabel(kind string) string { return "sbx-devc." + kind }
func ownerLabel(kind string) string   { return "sbx-devc." + kind + ".owner" }

// Wanted is a volume that somebody needs.
type Wanted struct {
	Kind    string
	Key     string // what there is one of: a checksum, a project's folder
	Content string // the volume is taken while this stays, and replaced when it changes
	Name    string // for people, in the volume's name; "" = none
}

func (s Store) note(w Wanted) Note { return NoteOf(s.Dir, s.Engine.Host(), w.Kind, w.Key) }

// Find returns the name of a volume that was filled before, "" for none.
func (s Store) Find(ctx context.Context, w Wanted) (name string, err error) {
	note := s.note(w)
	name = note.Read()
	if name == "" {
		return "", nil
	}
	v, err := s.Engine.Volume(ctx, name)
	if errors.Is(err, engine.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	if !v.Plain || v.Labels[contentLabel(w.Kind)] != w.Content || v.Labels[ownerLabel(w.Kind)] != note.owner() {
		return "", nil
	}
	return name, nil
}

// Take returns the name of a volume, which it makes where there is none: fill gets
// the name of an empty one, once for all processes of this user. A volume that could
// not be filled is removed, and so are earlier ones of the same kind and key that no
// container uses.
func (s Store) Take(ctx context.Context, w Wanted, fill func(name string) error) (name string, err error) {
	if name, err := s.Find(ctx, w); name != "" || err != nil {
		return name, err
	}
	note := s.note(w)
	lock, err := note.hold(ctx)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			lock.Close()
		} else {
			_ = filelock.Remove(lock)
		}
	}()
	if name, err := s.Find(ctx, w); name != "" || err != nil {
		return name, err // by the process that held the lock
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name = strings.Join(slices.DeleteFunc([]string{"sbx-devc", w.Kind, w.Name, hex.EncodeToString(random[:])},
		func(part string) bool { return part == "" }), "-")
	labels := map[string]string{contentLabel(w.Kind): w.Content, ownerLabel(w.Kind): note.owner()}
	if err := s.Engine.CreateVolume(ctx, name, labels); err != nil {
		return "", err
	}
	if err = fill(name); err == nil {
		err = note.Write(name)
	}
	if err != nil {
		return "", errors.Join(err, s.Engine.RemoveVolume(context.WithoutCancel(ctx), name))
	}
	_ = s.removeOwned(ctx, w.Kind, note, name) // they cost room alone
	return name, nil
}

// Place is where Unpack mounts a volume.
const Place = "/volume"

// Unpack unpacks an archive into a folder of a container that has the volume at Place and
// is not started. The container is of image, and goes again.
func (s Store) Unpack(ctx context.Context, volume, image, folder string, write func(io.Writer) error) (err error) {
	container, err := s.Engine.Create(ctx, engine.Spec{
		Image:   image,
		Process: engine.Process{Command: []string{"/none"}},
		Link:    engine.Link{Network: "none"},
		Storage: engine.Storage{Mounts: []engine.Mount{{Named: volume, Target: Place}}},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Engine.Remove(context.WithoutCancel(ctx), container)) }()
	r, w := io.Pipe()
	go func() { w.CloseWithError(write(w)) }()
	defer r.Close()
	return s.Engine.CopyTar(ctx, container, folder, r)
}

// removeOwned removes the volumes of a note but keep.
func (s Store) removeOwned(ctx context.Context, kind string, note Note, keep string) error {
	volumes, err := s.Engine.Volumes(ctx, ownerLabel(kind), note.owner())
	errs := []error{err}
	for _, v := range volumes {
		if v.Name != keep {
			errs = append(errs, s.Engine.RemoveVolume(ctx, v.Name))
		}
	}
	return errors.Join(errs...)
}

// Kept is a volume of this user's.
type Kept struct {
	Name    string
	Kind    string
	Content string // see Wanted
	Bytes   int64  // -1 = not measured

	note Note
}

// List returns this user's volumes of a kind, by their content. The engine does not
// measure them: see Measure.
func (s Store) List(ctx context.Context, kind string) ([]Kept, error) {
	folder := filepath.Join(s.Dir, notes)
	files, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	of := map[string]Note{}
	for _, f := range files {
		if name := strings.TrimSuffix(f.Name(), lockSuffix); strings.HasPrefix(name, kind+"-") {
			note := Note(filepath.Join(folder, name))
			of[note.owner()] = note
		}
	}
	volumes, err := s.Engine.Volumes(ctx, ownerLabel(kind), "")
	var kept []Kept
	for _, v := range volumes {
		if note, own := of[v.Labels[ownerLabel(kind)]]; own {
			kept = append(kept, Kept{Name: v.Name, Kind: kind, Content: v.Labels[contentLabel(kind)], Bytes: -1, note: note})
		}
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Or(cmp.Compare(a.Content, b.Content), cmp.Compare(a.Name, b.Name)) })
	return kept, err
}

// Measure fills in how much room volumes take. The engine reads all of its volumes.
func (s Store) Measure(ctx context.Context, kept []Kept) error {
	sizes, err := s.Engine.VolumeSizes(ctx)
	for i, k := range kept {
		if size, known := sizes[k.Name]; known {
			kept[i].Bytes = size
		}
	}
	return err
}

// Remove removes a volume, and the note that names it. One that a container uses is
// an error.
func (s Store) Remove(ctx context.Context, k Kept) error {
	if err := s.Engine.RemoveVolume(ctx, k.Name); err != nil {
		return err
	}
	k.note.dropLock()
	if k.note.Read() != k.Name {
		return nil
	}
	return os.Remove(string(k.note))
}
