package base

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/imagebuild/layer"
	"github.com/org/claude-sandbox/internal/diag"
)

// The agent's account.
const (
	User = "agent"
	UID  = 1000
	Home = "/home/agent"
)

// required is what sbx-init and the agent cannot do without.
var required = []string{"iptables", "ip6tables", "ipset", "sh", "bash"}

// missing lists the programs that a sandbox needs and the base does not have.
func (f Facts) missing() []string {
	var names []string
	for _, name := range required {
		if !f.Programs[name] {
			names = append(names, name)
		}
	}
	return names
}

// Sandbox returns what turns the base into a sandbox: the account "agent" with
// uid 1000 in place of the account with that number, its home, and every program
// that lends root's rights once more without them.
func Sandbox(f Facts) ([]layer.Entry, error) {
	if missing := f.missing(); len(missing) > 0 {
		return nil, diag.WithHint(fmt.Errorf("the base has no %s", strings.Join(missing, ", ")),
			"build a base with a Dockerfile that installs them (apt-get install bash iptables ipset), and name it with --base engine:NAME")
	}
	passwd, group := f.Accounts["etc/passwd"], f.Accounts["etc/group"]
	if len(passwd) == 0 || len(group) == 0 {
		return nil, errors.New("the base has no /etc/passwd or no /etc/group")
	}
	gone, newPasswd, err := replaceUser(string(passwd))
	if err != nil {
		return nil, err
	}
	newGroup, err := replaceGroup(string(group), gone)
	if err != nil {
		return nil, err
	}
	entries := []layer.Entry{
		{Path: "etc/passwd", Data: []byte(newPasswd)},
		{Path: "etc/group", Data: []byte(newGroup)},
		{Path: strings.TrimPrefix(Home, "/") + "/", Mode: 0o700, UID: UID, GID: UID},
		{Path: strings.TrimPrefix(Home, "/") + "/.claude/", Mode: 0o700, UID: UID, GID: UID},
	}
	// Without shadow entries programs such as su call the account broken. "!"
	// means that no password opens it.
	for _, shadow := range []struct{ path, line string }{{"etc/shadow", User + ":!:19000:0:99999:7:::"}, {"etc/gshadow", User + ":!::"}} {
		if old, ok := f.Accounts[shadow.path]; ok {
			entries = append(entries, layer.Entry{Path: shadow.path, Mode: 0o640, GID: shadowGroup(newGroup),
				Data: []byte(without(string(old), gone) + shadow.line + "\n")})
		}
	}
	for _, p := range f.Privileged {
		entries = append(entries, layer.Entry{Path: p.Path, Mode: p.Mode &^ 0o6000, UID: p.UID, GID: p.GID, Data: p.Data})
	}
	return entries, nil
}

// replaceUser takes out the accounts that the agent's replaces and adds it.
func replaceUser(passwd string) (gone []string, out string, err error) {
	gone = []string{User}
	var kept strings.Builder
	for line := range strings.Lines(passwd) {
		fields := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(fields) < 7 {
			continue
		}
		if fields[0] == User && fields[2] != strconv.Itoa(UID) {
			return nil, "", fmt.Errorf("the base has an account %s with uid %s, not %d", User, fields[2], UID)
		}
		if fields[0] == User || fields[2] == strconv.Itoa(UID) {
			if fields[0] != User {
				gone = append(gone, fields[0])
			}
			continue
		}
		kept.WriteString(strings.Join(fields, ":") + "\n")
	}
	fmt.Fprintf(&kept, "%s:x:%d:%d::%s:/bin/bash\n", User, UID, UID, Home)
	return gone, kept.String(), nil
}

// replaceGroup takes the accounts out of all groups, and out come the groups
// of their names and the one with the agent's number.
func replaceGroup(group string, gone []string) (string, error) {
	var kept strings.Builder
	for line := range strings.Lines(group) {
		fields := strings.Split(strings.TrimRight(line, "\n"), ":")
		if len(fields) < 4 {
			continue
		}
		if fields[0] == User && fields[2] != strconv.Itoa(UID) {
			return "", fmt.Errorf("the base has a group %s with gid %s, not %d", User, fields[2], UID)
		}
		if fields[2] == strconv.Itoa(UID) || slices.Contains(gone, fields[0]) {
			continue
		}
		members := slices.DeleteFunc(strings.Split(fields[3], ","), func(m string) bool { return slices.Contains(gone, m) })
		fields[3] = strings.Join(members, ",")
		kept.WriteString(strings.Join(fields, ":") + "\n")
	}
	fmt.Fprintf(&kept, "%s:x:%d:\n", User, UID)
	return kept.String(), nil
}

// without takes out the lines of accounts.
func without(text string, gone []string) string {
	var kept strings.Builder
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, ":")
		if !slices.Contains(gone, name) {
			kept.WriteString(strings.TrimRight(line, "\n") + "\n")
		}
	}
	return kept.String()
}

// shadowGroup returns the number of the group that may read shadow files.
func shadowGroup(group string) int {
	for line := range strings.Lines(group) {
		fields := strings.Split(line, ":")
		if fields[0] == "shadow" && len(fields) > 2 {
			if gid, err := strconv.Atoi(fields[2]); err == nil {
				return gid
			}
		}
	}
	return 0
}
