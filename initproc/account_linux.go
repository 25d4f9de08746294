package initproc

import (
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

// defaultUser is the user that the command runs as when --user is not given.
const defaultUser = "agent"

// Account is the user that the command runs as.
type Account struct {
	UID, GID int
	Groups   []int  // supplementary groups
	Name     string // login name; the number when /etc/passwd has none
	Home     string // "/" when /etc/passwd has none
}

// maxID is the largest id that means somebody: (uid_t)-1 means "no change".
const maxID = 1<<32 - 2

// FindAccount reads NAME, UID, NAME:GID or UID:GID. Without a GID the groups
// are those that /etc/passwd and /etc/group give the user; with one it is the
// only group. A number without an entry is a user without a name whose group
// has the same number. Root is refused: it could take the firewall down.
func FindAccount(spec string) (Account, error) {
	if spec == "" {
		spec = defaultUser
		if _, err := user.Lookup(spec); err != nil {
			return Account{}, diag.WithHint(errors.New("the image has no user \"agent\", and --user is not given"),
				"create the user in the image, or name another: --user NAME or --user UID:GID")
		}
	}
	who, group, hasGroup := strings.Cut(spec, ":")
	var a Account
	found, err := user.Lookup(who)
	uid, numErr := parseID(who)
	if err != nil && numErr == nil {
		found, err = user.LookupId(strconv.Itoa(uid))
	}
	switch {
	case err == nil:
		if a, err = accountOf(found, hasGroup); err != nil {
			return Account{}, err
		}
	case numErr == nil:
		a = Account{UID: uid, GID: uid, Name: strconv.Itoa(uid), Home: "/"}
	default:
		return Account{}, diag.WithHint(fmt.Errorf("--user %s: the image has no user %q", spec, who),
			"create the user in the image, or give its number: --user UID:GID")
	}
	if hasGroup {
		gid, err := parseID(group)
		if err != nil {
			return Account{}, diag.WithHint(fmt.Errorf("--user %s: %q is no group number", spec, group),
				"write --user NAME, --user UID or --user UID:GID")
		}
		a.GID, a.Groups = gid, []int{gid}
	}
	if a.UID == 0 {
		return Account{}, diag.WithHint(fmt.Errorf("--user %s is root, which could undo the firewall", spec),
			"run the command as an unprivileged user: --user agent, or --user 1000:1000")
	}
	return a, nil
}

func accountOf(u *user.User, groupGiven bool) (Account, error) {
	uid, err1 := parseID(u.Uid)
	gid, err2 := parseID(u.Gid)
	if err := errors.Join(err1, err2); err != nil {
		return Account{}, fmt.Errorf("user %s in /etc/passwd: %w", u.Username, err)
	}
	a := Account{UID: uid, GID: gid, Groups: []int{gid}, Name: u.Username, Home: u.HomeDir}
	if a.Home == "" {
		a.Home = "/"
	}
	if groupGiven {
		return a, nil
	}
	ids, err := u.GroupIds()
	if err != nil {
		return Account{}, fmt.Errorf("the groups of user %s: %w", u.Username, err)
	}
	for _, id := range ids {
		n, err := parseID(id)
		if err != nil {
			return Account{}, fmt.Errorf("the groups of user %s: %w", u.Username, err)
		}
		if !slices.Contains(a.Groups, n) {
			a.Groups = append(a.Groups, n)
		}
	}
	return a, nil
}

func parseID(s string) (int, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n > maxID {
		return 0, fmt.Errorf("%q is no user or group number", s)
	}
	return int(n), nil
}

// Environ returns env with the variables that belong to the user set to the
// account's.
func (a Account) Environ(env []string) []string {
	own := map[string]string{"HOME": a.Home, "USER": a.Name, "LOGNAME": a.Name}
	out := make([]string, 0, len(env)+len(own))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); own[name] == "" {
			out = append(out, kv)
		}
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME"} {
		out = append(out, name+"="+own[name])
	}
	return out
}
