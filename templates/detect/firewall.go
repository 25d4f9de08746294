package detect

import (
	"path"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// scriptFolder is where dev containers keep the script of their own firewall.
const scriptFolder = ".devcontainer"

var (
	// listStart and listEnd are what stands around a list of words in a shell
	// script: for x in A \, HOSTS=(A, HOSTS="A, "A"; do.
	listStart = lazyregexp.New(`^\s*(for\s+\w+\s+in\s|(readonly\s+|declare\s+-\w+\s+|local\s+)?\w+\+?=[("']|\)\s*$)?`)
	listEnd   = lazyregexp.New(`(\s#.*|\\|;\s*do|["')]+)\s*$`)
	// hostWord is a name with a domain of letters at its end. Names of shell
	// scripts look alike and are none.
	hostWord = lazyregexp.New(`(?i)^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}$`)
)

// firewallScripts proposes the hosts that a script of the project's own firewall
// lists, as Anthropic's reference dev container has one. The script is read as
// text: lines that hold nothing but host names.
func (l *look) firewallScripts() {
	for _, name := range l.tree.names(scriptFolder) {
		if !strings.Contains(name, "firewall") || path.Ext(name) != ".sh" {
			continue
		}
		file := path.Join(scriptFolder, name)
		l.lines(file, func(line int, text []byte) {
			for _, host := range hostsOn(string(text)) {
				l.offer("https://"+host, "the dev container's own firewall allows it", file, line)
			}
		})
	}
}

// hostsOn returns the words of a line of a shell script when each is a host.
func hostsOn(line string) []string {
	line = strings.TrimRight(line, "\r\n")
	line = line[len(listStart.FindString(line)):]
	for end := listEnd.FindStringIndex(line); end != nil; end = listEnd.FindStringIndex(line) {
		line = line[:end[0]]
	}
	words := strings.Fields(line)
	for i, w := range words {
		words[i] = strings.Trim(w, `"'`)
		if !hostWord.MatchString(words[i]) || strings.HasSuffix(words[i], ".sh") {
			return nil
		}
	}
	return words
}
