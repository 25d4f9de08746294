package lint_test

import (
	"strings"
	"testing"
)

// pair is a mistake, and what is written in nearly the same way and is none. want is the severity and the rule of the
// finding, and what the first line of its place begins with. Without a mistake, want is the rule alone.
type pair struct{ name, want, wrong, right string }

const (
	ownCommand = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "root", "overrideCommand": false}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"
	asDev = `{"build": {"dockerfile": "Dockerfile"}, "remoteUser": "dev1"}` + "\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"
)

var writtenPairs = []pair{
	// What a shell repeats, leaves to itself or runs perhaps is not known to end.
	{"loop over a printer", `error SBX326 false`, ownCommand + "CMD date; echo ready\n", ownCommand + "CMD while true; do date; done\n"},
	{"loop until something", `error SBX326 false`, ownCommand + "CMD [\"sh\", \"-c\", \"date\"]\n",
		ownCommand + "CMD [\"sh\", \"-c\", \"until false; do date; done\"]\n"},
	{"endless for", `SBX326`, "", ownCommand + "CMD [\"bash\", \"-c\", \"for ((;;)); do date; done\"]\n"},
	{"loop in a group", `SBX326`, "", ownCommand + "CMD { while true; do date; done; } && echo over\n"},
	{"loop in a substitution", `SBX326`, "", ownCommand + "CMD echo $(while true; do date; done)\n"},
	{"printer and a server", `SBX326`, "", ownCommand + "CMD [\"bash\", \"-c\", \"false || b-server\"]\n"},
	{"background and wait", `SBX326`, "", ownCommand + "CMD [\"sh\", \"-c\", \"tail -f /dev/null & wait\"]\n"},
	{"trap and wait", `SBX326`, "", ownCommand + "CMD trap 'echo bye' TERM; sleep infinity & wait\n"},
	{"endless yes", `SBX326`, "", ownCommand + "CMD yes >/dev/null\n"},
	{"entrypoint that hands over", `SBX326`, "", ownCommand + "ENTRYPOINT [\"sh\", \"-c\", \"date; exec \\\"$@\\\"\", \"--\"]\nCMD [\"sleep\", \"infinity\"]\n"},
	{"program of the project called echo", `error SBX326 false`, ownCommand + "CMD [\"/bin/echo\", \"ready\"]\n",
		ownCommand + "COPY --from=golang:1.24 /x /app/echo\nCMD [\"/app/echo\"]\n"},
	{"loop of a service", `error SBX326 [`, "services:\n  app:\n    image: debian:13\n    command: [sh, -c, \"date; echo ready\"]\n    volumes: [\"..:/w\"]\n",
		"services:\n  app:\n    image: debian:13\n    command: [sh, -c, \"while true; do date; done\"]\n    volumes: [\"..:/w\"]\n"},
	// Users that a Dockerfile makes without their names.
	{"user of a loop", `error SBX703 "dev1"`, asDev + "RUN for n in a b; do echo $n; useradd -m dev; done\n",
		asDev + "RUN for n in 1 2; do useradd -m dev$n; done\n"},
	{"user of an ARG", `error SBX703 "dev1"`, asDev + "ARG NAME=dev\nRUN useradd -m $NAME\n", asDev + "ARG NAME=dev1\nRUN useradd -m $NAME\n"},
	{"number of another user", `error SBX703 "dev1"`, asDev + "RUN useradd -u \"$(cat /uid)\" -m dev\n", asDev + "RUN useradd -m dev\"$(cat /n)\"\n"},
	{"users of xargs", `SBX703`, "", asDev + "RUN seq -f dev%g 1 3 | xargs -n1 useradd -m\n"},
	{"users in a list", `SBX703`, "", asDev + "RUN seq 1 3 | sed 's/.*/dev&:x:::::/' | newusers\n"},
	{"user written to the file", `SBX703`, "", asDev + "RUN n=1; echo \"dev$n:x:1000:1000::/:/bin/sh\" >> /etc/passwd\n"},
	{"user renamed", `SBX703`, "", asDev + "RUN usermod -l \"dev$(cat /n)\" games\n"},
	{"files over the root folder", `error SBX703 "dev1"`, asDev + "COPY . /opt\n", asDev + "COPY . /\n"},
	{"user of a package", `error SBX703 postgres`, builtHere + "FROM debian:12\nRUN apt-get update\nUSER postgres\n",
		builtHere + "FROM debian:12\nRUN apt-get update && apt-get install -y postgresql\nUSER postgres\n"},
	{"user of a package with another name", `SBX703`, "",
		builtHere + "FROM debian:12\nRUN apt-get update && apt-get install -y mariadb-server\nUSER mysql\n"},
	{"program that may make any user", `warning SBX703 "dev1"`, asDev + "RUN ansible-playbook setup.yml\n",
		asDev + "RUN useradd dev1 && ansible-playbook setup.yml\n"},
	// Podman takes one word that Docker refuses.
	{"removed and started again", `error SBX321 "--restart=always"`, `{"image": "a:1", "runArgs": ["--rm", "--restart=always"]}`,
		`{"image": "a:1", "runArgs": ["--restart=always"]}`},
	{"removed and started again after a failure", `warning SBX321 "--restart=on-failure"`,
		`{"image": "a:1", "runArgs": ["--rm", "--restart=on-failure"]}`, `{"image": "a:1", "runArgs": ["--restart=on-failure"]}`},
	{"removed and started three times", `error SBX321 "--restart=on-failure:3"`,
		`{"image": "a:1", "runArgs": ["--rm", "--restart=on-failure:3"]}`, `{"image": "a:1", "runArgs": ["--restart=on-failure:3"]}`},
}

// A mistake has its finding, and its correct twin has none of that rule.
func TestWrittenPairs(t *testing.T) {
	for _, p := range writtenPairs {
		words := strings.SplitN(p.want, " ", 3)
		id := words[min(1, len(words)-1)]
		for _, f := range judge(t, written{files: p.right}.tree()) {
			if f.Rule == id {
				t.Errorf("%s: the correct one has %s %s %s", p.name, f.Severity, f.Rule, f.Message)
			}
		}
		if p.wrong == "" {
			continue
		}
		tree, hit := written{files: p.wrong}.tree(), false
		var said []string
		for _, f := range judge(t, tree) {
			at := strings.Split(tree[f.File], "\n")[f.Line-1][f.Column-1:]
			said = append(said, string(f.Severity)+" "+f.Rule+" "+at)
			hit = hit || string(f.Severity) == words[0] && f.Rule == id && strings.HasPrefix(at, words[2])
		}
		if !hit {
			t.Errorf("%s: not found: %s, but %q", p.name, p.want, said)
		}
	}
}
