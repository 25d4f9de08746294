package rights

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// Arg is one option of the engine's command line, from runArgs or from
// build.options.
type Arg struct {
	Flag  string // long form without dashes: "volume"
	Value string // "true" for a switch without a value
	Node  *jsonc.Node
}

// CommandOptions are what a command of the engine's program accepts, as its own parser
// has it: which words take the next one as their value. A test compares them
// with the program's help.
type CommandOptions struct {
	short    map[byte]string // the long form of a letter
	switches map[string]bool // take no value of their own
	valued   map[string]bool // take the next word when they have no "="
	single   map[string]bool // of which the last counts
	aliases  map[string]string
	meant    map[string]string // by names of other programs, or of Compose
}

func words(lines ...string) map[string]bool {
	out := map[string]bool{}
	for _, l := range lines {
		for w := range strings.FieldsSeq(l) {
			out[w] = true
		}
	}
	return out
}

// RunOptions are those of "docker run", with what Podman has besides.
var RunOptions = CommandOptions{
	short: map[byte]string{'a': "attach", 'c': "cpu-shares", 'd': "detach", 'e': "env", 'h': "hostname", 'i': "interactive", 'l': "label",
		'm': "memory",
		'p': "publish", 'P': "publish-all", 'q': "quiet", 't': "tty", 'u': "user", 'v': "volume", 'w': "workdir"},
	switches: words("detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet",
		"read-only rm sig-proxy tty use-api-socket env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi",
		"rootfs tls-verify unsetenv-all"),
	valued: words("add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile cpu-count",
		"cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems detach-keys",
		"device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns dns-option",
		"dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval health-retries",
		"health-start-interval health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6 ipc isolation",
		"kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory memory-reservation memory-swap",
		"memory-swappiness mount name network network-alias oom-score-adj pid pids-limit platform publish pull restart runtime",
		"security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit user userns uts volume volume-driver",
		"volumes-from workdir arch authfile cert-dir cgroup-conf cgroups chrootdirs conmon-pidfile creds decryption-key",
		"env-merge gidmap group-entry health-log-destination health-max-log-count health-max-log-size health-on-failure",
		"health-startup-cmd health-startup-interval health-startup-retries health-startup-success health-startup-timeout",
		"hooks-dir hosts-file hostuser image-volume init-ctr init-path intel-rdt-closid module os passwd-entry personality pidfile pod",
		"pod-id-file preserve-fd preserve-fds rdt-class requires retry retry-delay sdnotify seccomp-policy secret",
		"shm-size-systemd signature-policy subgidname subuidname systemd timeout tz uidmap umask unsetenv variant"),
	single: words("privileged publish-all use-api-socket init read-only pid ipc uts userns cgroupns user entrypoint"),
	aliases: map[string]string{"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option",
		"healthcheck-command": "health-cmd", "healthcheck-interval": "health-interval", "healthcheck-retries": "health-retries",
		"healthcheck-start-period": "health-start-period", "healthcheck-timeout": "health-timeout",
		"override-arch": "arch", "override-os": "os", "override-variant": "variant"},
	meant: map[string]string{"gpu": "gpus", "mem": "memory", "ram": "memory", "mem-limit": "memory", "memory-limit": "memory",
		"memory-max": "memory", "cpu": "cpus", "cpu-limit": "cpus", "cpu-num": "cpus", "cores": "cpus", "shm": "shm-size",
		"shared-memory": "shm-size", "port": "publish", "ports": "publish", "publish-port": "publish", "vol": "volume",
		"volumes": "volume", "bind": "volume", "mounts": "mount", "environment": "env", "envs": "env", "environment-file": "env-file",
		"capability": "cap-add", "capabilities": "cap-add", "cap": "cap-add", "caps": "cap-add", "add-cap": "cap-add",
		"drop-cap": "cap-drop", "host": "hostname", "hosts": "add-host", "extra-host": "add-host", "extra-hosts": "add-host",
		"addhost": "add-host", "seccomp": "security-opt", "apparmor": "security-opt", "security-opts": "security-opt",
		"seccomp-profile": "security-opt", "ro": "read-only", "readonly": "read-only", "remove": "rm", "working-dir": "workdir",
		"work-dir": "workdir", "cwd": "workdir", "networks": "network", "devices": "device", "container-name": "name",
		"restart-policy": "restart", "userns-mode": "userns", "ipc-mode": "ipc", "pid-mode": "pid", "network-mode": "network",
		"privilege": "privileged", "nameserver": "dns", "mac": "mac-address", "swap": "memory-swap", "uid": "user", "ipv4": "ip",
		"ipv6": "ip6", "cpuset": "cpuset-cpus", "arguments": "env", "platforms": "platform"},
}

// ImageOptions are those of "docker build", with BuildKit and without.
var ImageOptions = CommandOptions{
	short:    map[byte]string{'c': "cpu-shares", 'D': "debug", 'f': "file", 'm': "memory", 'o': "output", 'q': "quiet", 't': "tag"},
	switches: words("check compress debug disable-content-trust force-rm help load no-cache push pull quiet rm squash stream"),
	valued: words("add-host allow annotation attest build-arg build-context builder cache-from cache-to call cgroup-parent cpu-period",
		"cpu-quota cpu-shares cpuset-cpus cpuset-mems file iidfile isolation label memory memory-swap metadata-file network",
		"no-cache-filter output platform policy progress provenance sbom secret security-opt shm-size ssh tag target ulimit"),
	single: words("network"),
}

// Knows reports whether an option, in its long form without dashes, is one of the command's.
func (o CommandOptions) Knows(flag string) bool {
	return o.switches[flag] || o.valued[flag] || o.aliases[flag] != ""
}

// Nearest returns the option that was probably meant by one that the command lacks, or "".
// A newer engine may have more: only a slip of the same first letter is one.
func (o CommandOptions) Nearest(flag string) string {
	if long := o.meant[strings.ReplaceAll(strings.ToLower(flag), "_", "-")]; long != "" {
		return long
	}
	if len(flag) == 1 {
		return o.short[flag[0]]
	}
	best := diag.Suggest(flag, slices.Concat(slices.Sorted(maps.Keys(o.switches)), slices.Sorted(maps.Keys(o.valued))))
	if best == "" || flag == "" || best[0] != flag[0] {
		return ""
	}
	return best
}

// Words returns the options and values that one element of the array holds, each for an element of its own: an option and its value
// where the text is no row of options.
func (o CommandOptions) Words(element string) []string {
	words := strings.Fields(element)
	for n := 0; n < len(words); n++ {
		name, _, _ := strings.Cut(strings.TrimLeft(words[n], "-"), "=")
		known := strings.HasPrefix(words[n], "--") && o.Knows(name) || strings.HasPrefix(words[n], "-") && name != "" && o.short[name[0]] != ""
		takes := o.TakesNext(words[n])
		if !known || takes && n+1 == len(words) {
			flag, value, _ := strings.Cut(element, " ")
			return []string{flag, strings.TrimSpace(value)}
		}
		if takes {
			n++
		}
	}
	return words
}

// UnknownLetter returns the first option of a word like "-itv" that the command lacks, or "".
func (o CommandOptions) UnknownLetter(word string) string {
	letters, ok := strings.CutPrefix(word, "-")
	if !ok || strings.HasPrefix(letters, "-") {
		return ""
	}
	for i := range len(letters) {
		flag, known := o.short[letters[i]]
		switch {
		case !known && letters[i] < utf8.RuneSelf:
			return letters[i : i+1]
		case !known || !o.switches[flag]:
			return "" // the rest is its value
		case strings.HasPrefix(letters[i+1:], "="):
			return ""
		}
	}
	return ""
}

// TakesNext reports whether an element of the array is an option whose value is the next one.
func (o CommandOptions) TakesNext(word string) bool {
	if long, ok := strings.CutPrefix(word, "--"); ok {
		if alias, ok := o.aliases[long]; ok {
			long = alias
		}
		return o.valued[long]
	}
	if len(word) < 2 || word[0] != '-' {
		return false
	}
	last := word[len(word)-1]
	for _, letter := range []byte(word[1 : len(word)-1]) {
		if !o.switches[o.short[letter]] {
			return false // the rest of the word is its value
		}
	}
	return o.valued[o.short[last]]
}

// Parse reads the words of an array as the engine's command line would, up to
// the first one that is no option: after that come an image and its command.
// An option that the tables lack is a switch, unless a word follows that is no option.
func (o CommandOptions) Parse(list *jsonc.Node) []Arg {
	out, _ := o.parse(list)
	return out
}

// Stray returns the first element that is neither an option nor the value of one, or nil.
func (o CommandOptions) Stray(list *jsonc.Node) *jsonc.Node {
	_, stray := o.parse(list)
	return stray
}

func (o CommandOptions) parse(list *jsonc.Node) (out []Arg, stray *jsonc.Node) {
	if list == nil || list.Kind != jsonc.Array {
		return nil, nil // the reference CLI makes letters of a text
	}
	last := map[string]int{}
	add := func(flag, value string, n *jsonc.Node) {
		arg := Arg{flag, value, n}
		if i, again := last[flag]; again && o.single[flag] {
			out[i] = arg
			return
		}
		last[flag] = len(out)
		out = append(out, arg)
	}
	all := list.Elements
	for i := 0; i < len(all); i++ {
		n := all[i]
		word := n.TextOr("")
		next := func() string {
			if i+1 >= len(all) {
				return ""
			}
			i++
			return all[i].TextOr("")
		}
		switch {
		case word == "--" && i+1 < len(all):
			return out, all[i+1]
		case word == "--":
			return out, nil
		case strings.HasPrefix(word, "--"):
			flag, value, hasValue := strings.Cut(word[2:], "=")
			if long, ok := o.aliases[flag]; ok {
				flag = long
			}
			switch {
			case hasValue:
			case o.valued[flag], !o.switches[flag] && i+1 < len(all) && isPlain(all[i+1].TextOr("")):
				value = next()
			default:
				value = "true"
			}
			add(flag, value, n)
		case strings.HasPrefix(word, "-") && len(word) > 1:
			o.letters(word[1:], next, func(flag, value string) { add(flag, value, n) })
		case !Variable.MatchString(word):
			return out, n
		}
	}
	return out, nil
}

// isPlain reports whether a word is neither an option nor empty.
func isPlain(word string) bool { return word != "" && word[0] != '-' }

// letters reads "-itv", whose last letter may have a value: in the same word,
// with or without "=", or in the next one.
func (o CommandOptions) letters(word string, next func() string, add func(flag, value string)) {
	for i := range len(word) {
		flag, known := o.short[word[i]]
		rest := word[i+1:]
		switch {
		case !known:
			return // the engine refuses the whole line
		case strings.HasPrefix(rest, "=") && len(rest) > 1:
			add(flag, rest[1:])
			return
		case o.switches[flag]:
			add(flag, "true")
		case rest != "":
			add(flag, rest)
			return
		default:
			add(flag, next())
			return
		}
	}
}

// IsOn reports whether the value of a switch means true to the engine's
// command line. For a variable its default counts.
func IsOn(value string) bool {
	return slices.Contains([]string{"1", "t", "T", "true", "TRUE", "True"}, defaultOf.ReplaceAllString(value, "$1"))
}
