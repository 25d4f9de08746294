package foldtest

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Places says what the kernel is told about two spellings of a name.
type Places int

// One number for a file, as virtiofsd gives it: the kernel then knows a folder by
// one name at a time, and a mount over it goes along. A number for each spelling,
// as sshfs and other servers by path give it: each is a place of its own.
const (
	OnePlace Places = iota
	PlaceEach
)

// serveVariable makes a test's program the server of a file system, a process of
// its own: in the same one, a program that starts in a folder of it waits for a
// server that the start of the program keeps from working.
const serveVariable = "SBX_FOLDTEST_SERVE"

func init() {
	if os.Getenv(serveVariable) != "" {
		os.Exit(serve(os.Args[1], os.Args[2], os.Args[3]))
	}
}

// Mount shows the folder dir at another place until the test ends, and returns
// that place.
func Mount(t testing.TB, dir string, p Places) string {
	t.Helper()
	testenv.Root(t)
	if _, err := os.Stat("/dev/fuse"); err != nil {
		testenv.Missing(t, "FUSE", err.Error())
	}
	at := t.TempDir()
	server := exec.Command(os.Args[0], dir, at, strconv.Itoa(int(p)))
	server.Env = append(os.Environ(), serveVariable+"=1")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(at, 0); err != nil {
			t.Error("unmounting: ", err)
			_ = unix.Unmount(at, unix.MNT_DETACH)
			_ = server.Process.Kill()
		}
		_ = server.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal("the file system is not served: ", err)
	}
	return at
}

// serve shows dir at another place until that is unmounted.
func serve(dir, at, places string) int {
	p, err := strconv.Atoi(places)
	fd, openErr := unix.Open(dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err = errors.Join(err, openErr); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	server, err := fs.Mount(at, &node{places: Places(p), fd: fd}, &fs.Options{MountOptions: fuse.MountOptions{
		DirectMountStrict: true, AllowOther: true, FsName: "folds-case", Options: []string{"default_permissions"},
	}})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Print("s")
	server.Wait()
	return 0
}

// node is a file or folder, held open, so that it has no name that could change.
type node struct {
	fs.Inode
	places Places
	fd     int // open until the server ends
}

var (
	_ fs.NodeLookuper   = (*node)(nil)
	_ fs.NodeGetattrer  = (*node)(nil)
	_ fs.NodeSetattrer  = (*node)(nil)
	_ fs.NodeReaddirer  = (*node)(nil)
	_ fs.NodeOpener     = (*node)(nil)
	_ fs.NodeCreater    = (*node)(nil)
	_ fs.NodeMkdirer    = (*node)(nil)
	_ fs.NodeSymlinker  = (*node)(nil)
	_ fs.NodeReadlinker = (*node)(nil)
	_ fs.NodeLinker     = (*node)(nil)
	_ fs.NodeUnlinker   = (*node)(nil)
	_ fs.NodeRmdirer    = (*node)(nil)
	_ fs.NodeRenamer    = (*node)(nil)
)

func (n *node) self() string { return "/proc/self/fd/" + strconv.Itoa(n.fd) }

// at is the path of an entry by the name that it has on this machine.
func (n *node) at(name string) string {
	full := n.self() + "/" + name
	if _, err := os.Lstat(full); err == nil {
		return full
	}
	entries, _ := os.ReadDir(n.self() + "/")
	for _, e := range entries {
		if strings.EqualFold(e.Name(), name) {
			return n.self() + "/" + e.Name()
		}
	}
	return full
}

// child is the node of an entry that is there.
func (n *node) child(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	fd, err := unix.Open(n.at(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	out.Attr.FromStat(&st)
	id := fs.StableAttr{Mode: st.Mode, Ino: st.Ino, Gen: 1}
	if n.places == PlaceEach {
		sum := fnv.New64a()
		sum.Write([]byte(name))
		id.Gen = sum.Sum64()
	}
	return n.NewInode(ctx, &node{places: n.places, fd: fd}, id), 0
}

// made gives a new entry to whoever made it.
func (n *node) made(ctx context.Context, name string, err error, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	if caller, ok := fuse.FromContext(ctx); ok {
		_ = os.Lchown(n.at(name), int(caller.Uid), int(caller.Gid))
	}
	return n.child(ctx, name, out)
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, name, out)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Fstat(n.fd, &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStat(&st)
	return 0
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	var err error
	if mode, ok := in.GetMode(); ok && err == nil {
		err = unix.Chmod(n.self(), mode&0o7777)
	}
	if size, ok := in.GetSize(); ok && err == nil {
		err = os.Truncate(n.self(), int64(size))
	}
	uid, uidOK := in.GetUID()
	gid, gidOK := in.GetGID()
	if (uidOK || gidOK) && err == nil {
		own := func(id uint32, ok bool) int {
			if ok {
				return int(id)
			}
			return -1
		}
		err = unix.Fchownat(n.fd, "", own(uid, uidOK), own(gid, gidOK), unix.AT_EMPTY_PATH)
	}
	if err != nil {
		return fs.ToErrno(err)
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewLoopbackDirStream(n.self() + "/")
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := unix.Open(n.self(), int(flags)&^(unix.O_NOFOLLOW|unix.O_CREAT|unix.O_APPEND), 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle,
	uint32, syscall.Errno) {
	fd, err := unix.Open(n.at(name), int(flags)&^unix.O_APPEND|unix.O_CREAT, mode)
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	inode, errno := n.made(ctx, name, nil, out)
	return inode, fs.NewLoopbackFile(fd), 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.made(ctx, name, os.Mkdir(n.at(name), os.FileMode(mode)), out)
}

func (n *node) Symlink(ctx context.Context, target, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.made(ctx, name, os.Symlink(target, n.at(name)), out)
}

func (n *node) Readlink(context.Context) ([]byte, syscall.Errno) {
	target := make([]byte, 4096)
	size, err := unix.Readlinkat(n.fd, "", target)
	return target[:max(size, 0)], fs.ToErrno(err)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	err := unix.Linkat(unix.AT_FDCWD, target.(*node).self(), unix.AT_FDCWD, n.at(name), unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.child(ctx, name, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(unix.Unlink(n.at(name)))
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(unix.Rmdir(n.at(name)))
}

func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	target := to.(*node)
	at := target.at(newName)
	if strings.EqualFold(filepath.Base(at), name) && target.fd == n.fd { // the same entry in other letters
		at = target.self() + "/" + newName
	}
	return fs.ToErrno(unix.Renameat2(unix.AT_FDCWD, n.at(name), unix.AT_FDCWD, at, uint(flags)))
}
