package cabundle

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/atomicfile"
)

// Published, in the audit log's folder, has the certificates by which the TLS of hosts
// is opened. The file is there when an entry of the policy names operations.
const Published = "ca.pem"

// Trust is a container in which programs are to trust the certificates in a file.
type Trust struct {
	File string // named Published
	// Later says that the file may come later, and not at all: until then programs trust
	// what the image does.
	Later bool
	Warn  func(error) // about programs that will not trust them
	dir   string      // "" = Folder
	root  string      // of its file system; "" = this process's
}

// Write makes the files that Variables name. An image without certificates is a warning.
func (t Trust) Write() error {
	dir, root := t.places()
	err := Write(dir, t.File, root)
	if t.Later && errors.Is(err, fs.ErrNotExist) {
		err = writeFiles(dir, nil, root)
	}
	if errors.Is(err, ErrNoBundle) {
		t.Warn(err)
		return nil
	}
	return err
}

// Publish puts certificates into the file, and where the programs are in this container
// makes them trust these as well. Editors start programs that do not get the command's
// environment, so the system's bundle gets the certificates, too.
func (t Trust) Publish(certificates []byte, programsAreHere bool) error {
	if err := atomicfile.WriteBytes(t.File, 0o644, certificates); err != nil || !programsAreHere {
		return err
	}
	if err := t.Write(); err != nil {
		return err
	}
	_, root := t.places()
	if err := AddToSystem(t.File, root); err != nil && !errors.Is(err, ErrNoBundle) {
		t.Warn(fmt.Errorf("programs that an editor starts may not trust the hosts whose TLS is opened: %w", err))
	}
	return nil
}

// Follow makes the files again whenever the firewall publishes other certificates:
// programs that start from then on trust them. It returns once it watches.
func (t Trust) Follow() error {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
	if err == nil {
		_, err = unix.InotifyAddWatch(fd, filepath.Dir(t.File), unix.IN_MOVED_TO)
	}
	if err != nil {
		return fmt.Errorf("watching for hosts whose TLS is opened later: %w", err)
	}
	go func() {
		for events := make([]byte, 4096); ; {
			n, err := unix.Read(fd, events)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			if err != nil {
				return
			}
			if !bytes.Contains(events[:n], []byte(Published)) { // other files are put there, too
				continue
			}
			if err := t.Write(); err != nil {
				t.Warn(fmt.Errorf("programs may not trust hosts whose TLS is opened from now on: %w", err))
			}
		}
	}()
	return nil
}

func (t Trust) places() (dir, root string) { return cmp.Or(t.dir, Folder), cmp.Or(t.root, "/") }

// AddVariables adds Variables to an environment, but for those that are set in it.
func AddVariables(environ []string) []string {
	for _, v := range Variables() {
		name, _, _ := strings.Cut(v, "=")
		if !slices.ContainsFunc(environ, func(set string) bool { return strings.HasPrefix(set, name+"=") }) {
			environ = append(environ, v)
		}
	}
	return environ
}
