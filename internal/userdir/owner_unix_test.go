//go:build unix

package userdir

import (
	"io/fs"
	"testing"
)

func TestAGroupOfOnesOwnIsNobodyElse(t *testing.T) {
	for _, c := range []struct {
		mode            fs.FileMode
		gid, uid, group int
		others          bool
	}{
		{0o600, 1000, 1000, 1000, false},
		{0o664, 1000, 1000, 1000, false}, // a umask of 002, as where each user has a group
		{0o664, 100, 1000, 100, true},    // the group of all users
		{0o664, 27, 1000, 1000, true},
		{0o664, 1000, 1000, 100, true},
		{0o666, 1000, 1000, 1000, true},
		{0o664, 0, 0, 0, true},
	} {
		if got := othersWrite(c.mode, c.gid, c.uid, c.group); got != c.others {
			t.Errorf("%+v: %v", c, got)
		}
	}
}
