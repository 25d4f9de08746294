package lint

import (
	"fmt"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// sockets are places where the session of a user, or the machine, listens, and
// what whoever connects there can do. An engine's socket is another rule
// (isSocket): it gives the host away as a whole.
var sockets = []struct {
	place *lazyregexp.Regexp // of a source with slashes, variables as they are written
	what  string
	can   string
}{
	{lazyregexp.New(`(?i)/\.X11-unix(/|$)|/\.ICE-unix(/|$)|/\.Xauthority$|\bXAUTHORITY\b`), "the X server",
		"reads every key that is typed and types into every window"},
	{lazyregexp.New(`/wayland-[0-9]+(\.lock)?$|\bWAYLAND_DISPLAY\b|^/mnt/wslg(/|$)`), "the desktop (Wayland)",
		"reads the clipboard and opens windows that look like others"},
	{lazyregexp.New(`/run/user/[^/]+/pulse(/native)?/?$|/pulse/native$|^/tmp/pulse-|/pipewire-[0-9]+(-manager)?$|\bPULSE_SERVER\b`),
		"the sound server", "hears the microphone"},
	{lazyregexp.New(`\bSSH_AUTH_SOCK\b|/ssh-auth\.sock$|/ssh-[^/]+/agent\.[0-9]+$|/(openssh-)?ssh-agent(\.sock(et)?)?$|` +
		`/keyring/(\.?ssh|control)$|^/run/host-services/?$|/\.?1password/.*agent\.sock$`), "the SSH agent", "signs with all keys of the user"},
	{lazyregexp.New(`S\.(gpg-agent|scdaemon|dirmngr|keyboxd)[^/]*$|/run/user/[^/]+/gnupg(/|$)`), "the GnuPG agent",
		"signs and decrypts with all keys of the user"},
	{lazyregexp.New(`^/(var/)?run/dbus(/|$)|/run/user/[^/]+/bus$|system_bus_socket$|\bDBUS_SESSION_BUS_ADDRESS\b`), "D-Bus",
		"starts programs on the host"},
	{lazyregexp.New(`^/(var/)?run/systemd(/|$)|/run/user/[^/]+/systemd(/|$)`), "systemd", "starts programs on the host"},
	{lazyregexp.New(`^/(var/)?run/libvirt(/|$)|/libvirt-sock(-ro)?$`), "the manager of virtual machines",
		"starts machines with the host's disks"},
}

// runtimeFolder is the variable of the host for the folder of the session's sockets.
var runtimeFolder = lazyregexp.New(`\$\{?(?:(?:localEnv|env):)?XDG_RUNTIME_DIR(?::?-?[^}]*)?\}|\$XDG_RUNTIME_DIR\b`)

// sessionSocket says whose socket a mount gives to the container and what that allows, or
// nothing.
func sessionSocket(m rights.Mount) (what, can string) {
	from := rights.Origin(m.Source)
	if m.Type != "bind" && m.Type != "npipe" || from.Base == "workspace" || from.Base == "" && !strings.Contains(m.Source, "$") {
		return "", "" // of the project
	}
	source := socketPath(m.Source)
	for _, s := range sockets {
		if s.place.MatchString(source) {
			return s.what, s.can
		}
	}
	return "", ""
}

// socketPath writes a source out so that places compare.
func socketPath(source string) string {
	p := rights.Origin(runtimeFolder.ReplaceAllLiteralString(source, "/run/user/1000"))
	switch p.Base {
	case "/":
		return "/" + p.Path
	case "home":
		return "~/" + p.Path
	}
	return p.Path
}

// sessionSockets reports mounts of such a socket.
func sessionSockets(v *rule.View) (out []rule.Finding) {
	for _, r := range shown(v, rights.Mounted, rights.Granted) {
		if what, can := sessionSocket(r.Mount); what != "" && !mountsEngine(r) {
			f := rule.AtRight(r, fmt.Sprintf("the mount of %q gives the container %s: a program that connects %s", r.Mount.Source, what, can),
				"leave it out; an editor forwards what a session needs, and asks")
			f.Place = r.SourceAt
			out = append(out, f)
		}
	}
	return out
}

func mountsSession(r rights.Right) bool {
	what, _ := sessionSocket(r.Mount)
	return what != ""
}

// sessionFolder matches the folder of a user's session, where an engine without
// root listens, too.
var sessionFolder = lazyregexp.New(`^/(var/)?run/user/[^/]+$`)
