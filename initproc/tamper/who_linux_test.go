package tamper

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// tree makes files and folders below a folder that root owns, from lines of
// "path mode uid gid"; a path with a final slash is a folder, "a -> b" a link.
func tree(t *testing.T, lines ...string) string {
	t.Helper()
	testenv.Root(t)
	root := t.TempDir()
	if err := errors.Join(os.Chmod(root, 0o755), os.Chmod(filepath.Dir(root), 0o755)); err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		var err error
		if from, to, ok := strings.Cut(line, " -> "); ok {
			err = os.Symlink(to, filepath.Join(root, from))
		} else {
			f := strings.Fields(line)
			path := filepath.Join(root, f[0])
			if strings.HasSuffix(f[0], "/") {
				err = os.Mkdir(path, 0o755)
			} else {
				err = os.WriteFile(path, nil, 0o644)
			}
			uid, err1 := strconv.Atoi(f[2])
			gid, err2 := strconv.Atoi(f[3])
			var mode uint32
			for _, c := range f[1] {
				mode = mode*8 + uint32(c-'0')
			}
			err = errors.Join(err, err1, err2, os.Chown(path, uid, gid), unix.Chmod(path, mode))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func TestWhoCanChangeAPolicyFile(t *testing.T) {
	agent := Who{UID: 54321, GIDs: []int{54321, 7}}
	for _, tt := range []struct {
		name  string
		lines []string
		file  string
		who   Who
		can   string // part of the answer; "" = not at all
	}{
		{"root's file in root's folder", []string{"p 644 0 0"}, "p", agent, ""},
		{"his own file", []string{"p 444 54321 0"}, "p", agent, "write to"},
		{"somebody else's file", []string{"p 644 99 99"}, "p", agent, ""},
		{"somebody else's file, for anyone", []string{"p 644 99 99"}, "p", Who{Anyone: true}, "write to"},
		{"world-writable", []string{"p 646 0 0"}, "p", agent, "write to"},
		{"his group's", []string{"p 664 0 7"}, "p", agent, "write to"},
		{"another group's", []string{"p 664 0 8"}, "p", agent, ""},
		{"another group's, for anyone", []string{"p 664 0 8"}, "p", Who{Anyone: true}, "write to"},
		{"root's group's, for anyone", []string{"p 664 0 0"}, "p", Who{Anyone: true}, ""},
		{"his folder", []string{"d/ 755 54321 0", "d/p 644 0 0"}, "d/p", agent, "in the place of"},
		{"his folder above", []string{"d/ 755 54321 0", "d/e/ 755 0 0", "d/e/p 644 0 0"}, "d/e/p", agent, "d/e"},
		{"a writable folder", []string{"d/ 777 0 0", "d/p 644 0 0"}, "d/p", agent, "in the place of"},
		{"a sticky folder", []string{"d/ 1777 0 0", "d/p 644 0 0"}, "d/p", agent, ""},
		{"a sticky folder of his", []string{"d/ 1777 54321 0", "d/p 644 0 0"}, "d/p", agent, "in the place of"},
		{"a sticky folder, a folder of his in it", []string{"d/ 1777 0 0", "d/e/ 755 54321 0", "d/e/p 644 0 0"}, "d/e/p", agent, "d/e"},
		{"a closed folder above his own", []string{"d/ 700 0 0", "d/e/ 755 54321 0", "d/e/p 644 0 0"}, "d/e/p", agent, "in the place of"},
		{"a link of root's", []string{"p 644 0 0", "l -> p"}, "l", agent, ""},
		{"a link in his folder", []string{"p 644 0 0", "d/ 755 54321 0", "d/l -> ../p"}, "d/l", agent, "in the place of"},
		{"a link through his folder", []string{"p 644 0 0", "d/ 755 54321 0", "d/l -> ../p", "l -> d/l"}, "l", agent, "d/l"},
		{"an absolute link", []string{"l -> /etc/passwd"}, "l", agent, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := tree(t, tt.lines...)
			how, err := tt.who.canChange(filepath.Join(root, tt.file))
			if err != nil {
				t.Fatal(err)
			}
			if (how == "") != (tt.can == "") || !strings.Contains(how, tt.can) {
				t.Errorf("%q, want %q", how, tt.can)
			}
		})
	}
}

func TestWhoCanChangeReportsPathsThatLeadNowhere(t *testing.T) {
	root := tree(t, "d/ 755 0 0", "p 644 0 0", "loop -> loop")
	for file, want := range map[string]error{"missing": os.ErrNotExist, "p/x": unix.ENOTDIR, "d": unix.EISDIR, "loop": unix.ELOOP} {
		if _, err := (Who{Anyone: true}).canChange(filepath.Join(root, file)); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", file, err, want)
		}
	}
}

func TestAttackAccessControlListForTheAgent(t *testing.T) {
	root := tree(t, "p 644 0 0")
	// The form of the attribute: acl_ea_header and acl_ea_entry of the kernel's
	// posix_acl_xattr.h. u::rw- u:54321:rw- g::r-- m::rw- o::r--
	list := binary.LittleEndian.AppendUint32(nil, 2)
	const nobody = ^uint32(0)
	for _, e := range []struct {
		tag, perm uint16
		id        uint32
	}{{0x01, 6, nobody}, {0x02, 6, 54321}, {0x04, 4, nobody}, {0x10, 6, nobody}, {0x20, 4, nobody}} {
		list = binary.LittleEndian.AppendUint16(list, e.tag)
		list = binary.LittleEndian.AppendUint16(list, e.perm)
		list = binary.LittleEndian.AppendUint32(list, e.id)
	}
	if err := unix.Setxattr(filepath.Join(root, "p"), "system.posix_acl_access", list, 0); err != nil {
		testenv.Missing(t, "a temporary folder with access control lists", err.Error())
	}
	how, err := Who{UID: 54321, GIDs: []int{54321}}.canChange(filepath.Join(root, "p"))
	if err != nil || how == "" {
		t.Errorf("%q, %v: the list was not seen", how, err)
	}
}

func TestMountPointsAreUnescaped(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mountinfo")
	text := "36 35 98:0 / /work\\040space/a\\134b rw,noatime master:1 - ext4 /dev/root rw\n1 2 0:1 / / rw - overlay none rw\n\n"
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	points, err := mountPoints(file)
	if err != nil || !points[`/work space/a\b`] || !points["/"] || len(points) != 2 {
		t.Errorf("%v, %v", points, err)
	}
}
