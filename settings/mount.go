package settings

import (
	"encoding/csv"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
)

const mountForms = "accepted: HOST:CONTAINER, HOST:CONTAINER:ro, or type=bind,source=HOST,target=CONTAINER,readonly"

// parseMount reads a mount as the container engines take it, in the short form
// HOST:CONTAINER[:ro] or in the long one, type=bind,source=HOST,target=CONTAINER,readonly.
// HOST may be a path of Windows, such as C:\src or \\server\share. The path is not looked
// up; see HostPath for what it means on a machine. An error says what is accepted.
func parseMount(text string) (m Mount, bad *problem) {
	if strings.ContainsRune(text, 0) {
		return m, &problem{"it holds a NUL character", mountForms}
	}
	first, _, _ := strings.Cut(text, ",")
	if name, _, ok := strings.Cut(first, "="); ok && slices.Contains(longNames, name) {
		m, bad = longMount(text)
	} else {
		m, bad = shortMount(text)
	}
	if bad != nil {
		return m, bad
	}
	return m, checkMount(m)
}

// checkMount judges what no machine is needed for.
func checkMount(m Mount) *problem {
	switch {
	case m.Host == "":
		return &problem{"it names no folder or file of this machine", mountForms}
	case m.Container == "":
		return &problem{"it names no place in the container", mountForms}
	case !path.IsAbs(m.Container):
		return &problem{"the container path " + quote(m.Container) + " is not absolute", "start it with /"}
	case path.Clean(m.Container) != m.Container:
		return &problem{"the container path " + quote(m.Container) + " is not in its shortest form", "write " + path.Clean(m.Container)}
	}
	return nil
}

// shortMount reads HOST:CONTAINER[:OPTIONS]. The colon of a drive is part of HOST.
func shortMount(text string) (m Mount, bad *problem) {
	at := 0
	if hasDrive(text) {
		at = 2
	}
	host, rest, ok := strings.Cut(text[at:], ":")
	if !ok {
		return m, &problem{quote(text) + " names no place in the container", mountForms}
	}
	m.Host = text[:at] + host
	var options string
	m.Container, options, ok = strings.Cut(rest, ":")
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "ro", "readonly":
			m.ReadOnly = true
		case "rw":
		default:
			if ok {
				return m, &problem{"the option " + quote(option) + " of a mount is not known",
					"accepted: ro and rw; a path with a colon in it needs the long form, source=HOST,target=CONTAINER"}
			}
		}
	}
	if named := m.Host != "" && !strings.ContainsAny(m.Host, `/\`) && m.Host[0] != '.' && m.Host[0] != '~'; named {
		return m, &problem{quote(m.Host) + " is the name of a volume to the engines, and volumes are not mounted",
			"for the folder of that name write ./" + m.Host}
	}
	return m, nil
}

// longNames are the names that the long form may have.
var longNames = []string{"type", "source", "src", "target", "destination", "dst", "readonly", "ro", "bind-propagation"}

// longMount reads NAME=VALUE,… as a line of CSV, like the engines.
func longMount(text string) (m Mount, bad *problem) {
	lines := csv.NewReader(strings.NewReader(text))
	fields, err := lines.Read()
	if err == nil {
		_, err = lines.Read()
	}
	if err == nil || fields == nil {
		return m, &problem{quote(text) + " is no list of NAME=VALUE", mountForms}
	}
	given := map[string]bool{}
	for _, field := range fields {
		name, value, hasValue := strings.Cut(strings.TrimSpace(field), "=")
		var key string
		switch name {
		case "source", "src":
			key, m.Host = "source", value
		case "target", "destination", "dst":
			key, m.Container = "target", value
		case "readonly", "ro":
			key, m.ReadOnly = "readonly", true
			if hasValue {
				if m.ReadOnly, err = strconv.ParseBool(value); err != nil {
					return m, &problem{name + "=" + quote(value) + " is neither true nor false", mountForms}
				}
			}
		case "type":
			key = "type"
			if value != "bind" {
				return m, &problem{"a mount of the type " + quote(value) + " is not made", "accepted: type=bind, for a folder or file of this machine"}
			}
		default:
			return m, &problem{"the option " + quote(name) + " of a mount is not known", mountForms}
		}
		if given[key] {
			return m, &problem{"a mount has two of " + key, mountForms}
		}
		given[key] = true
	}
	return m, nil
}

// hasDrive reports whether a path begins with a drive of Windows.
func hasDrive(text string) bool {
	if len(text) < 3 || text[1] != ':' {
		return false
	}
	letter := 'a' <= text[0]|0x20 && text[0]|0x20 <= 'z'
	return letter && (text[2] == '\\' || text[2] == '/')
}

// Machine is how a machine writes its paths.
type Machine string

// The machines.
const (
	Unix    Machine = "unix"
	Windows Machine = "windows"
	WSL     Machine = "wsl" // Linux in Windows, which has the drives below /mnt
)

// HostPath returns the path of a mount as the machine itself writes it: on WSL, C:\src is
// /mnt/c/src, and \\wsl$\NAME\src is a path of the system NAME, which may be another one
// and is refused. Elsewhere only Windows takes such paths. The drive of //c/src, as shells
// on Windows write it, is C:. "~" stays as it is.
func HostPath(host string, on Machine) (string, error) {
	if on != Unix && strings.HasPrefix(host, "//") && len(host) > 3 && host[3] == '/' && hasDrive(host[2:3]+":/") {
		host = strings.ToUpper(host[2:3]) + ":" + host[3:]
	}
	share := strings.HasPrefix(host, `\\`) || on != Unix && strings.HasPrefix(host, "//")
	switch {
	case on == Windows || !share && !hasDrive(host):
		return host, nil
	case on == WSL && !share:
		// Above a drive is nothing, as Windows has it.
		return path.Join("/mnt", strings.ToLower(host[:1]), path.Clean("/"+strings.ReplaceAll(host[2:], `\`, "/"))), nil
	}
	err := fmt.Errorf("%s is a path of Windows", quote(host))
	parts := strings.Split(strings.TrimLeft(strings.ReplaceAll(host, `\`, "/"), "/"), "/")
	if server := strings.ToLower(parts[0]); on == WSL && len(parts) > 2 && (server == "wsl$" || server == "wsl.localhost") {
		return "", diag.WithHint(err, "write it as Linux does, if it is of this system: /%s", path.Join(parts[2:]...))
	}
	return "", diag.WithHint(err, "write it as this machine does, beginning with /")
}
