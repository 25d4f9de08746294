package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// Each rule about stages and steps, its words and place, and the files that it lets pass.
func TestStagesAndSteps(t *testing.T) {
	const from = "FROM debian:13\n"
	for name, c := range map[string]struct{ rule, text, want string }{
		"relative":                        {"SBX733", from + "WORKDIR app\nWORKDIR sub\n", "2:9-2:12"},
		"relative to a known folder":      {"SBX733", from + "WORKDIR /app\nWORKDIR sub\n", ""},
		"relative to that of a parent":    {"SBX733", "FROM debian:13 AS a\nWORKDIR /app\nFROM a\nWORKDIR sub\n", ""},
		"copied to the image's folder":    {"SBX733", from + "COPY bin b\nCOPY a .\nWORKDIR /app\nCOPY a .\n", "2:10-2:11"},
		"copied with the words in quotes": {"SBX733", from + "ADD [\"b c\", \"d/\"]\n", "2:14-2:16"},
		"copied to a known folder":        {"SBX733", from + "WORKDIR /app\nCOPY a .\n", ""},
		"copied to that of a parent":      {"SBX733", "FROM debian:13 AS a\nWORKDIR /app\nFROM a\nCOPY a .\n", ""},
		"copied into nothing":             {"SBX733", "FROM scratch\nCOPY a .\n", ""},
		"copied to an unknown folder":     {"SBX733", from + "COPY a $HOME/x\n", ""},
		"relative to an unknown folder":   {"SBX733", from + "WORKDIR $HOME/x\n", ""},
		"cd":                              {"SBX734", from + "RUN mkdir /x && cd /x\n", "2:17-2:22"},
		"cd for a command":                {"SBX734", from + "RUN cd /x && make\n", ""},
		"cd in a group":                   {"SBX734", from + "RUN (cd /x)\n", ""},
		"export of an output":             {"SBX734", from + "RUN export A=$(date)\n", "2:5-2:21"},
		"variables of a file":             {"SBX734", from + "RUN . /opt/venv/bin/activate\n", "2:5-2:29"},
		"a script of one's own":           {"SBX734", from + "RUN . ./install.sh\n", ""},
		"service":                         {"SBX734", from + "RUN service postgresql start\n", "2:5-2:29"},
		"service for a command":           {"SBX734", from + "RUN service postgresql start && psql -c x\n", ""},
		"service as text":                 {"SBX734", from + "RUN echo service postgresql start > /start\n", ""},
		"sudo":                            {"SBX735", from + "RUN sudo apt-get update\n", "2:5-2:9"},
		"sudo that is there":              {"SBX735", from + "RUN apt-get install -y sudo\nRUN sudo true\n", ""},
		"sudo of another image":           {"SBX735", "FROM mcr.microsoft.com/devcontainers/base:1\nRUN sudo true\n", ""},
		"sudo if there":                   {"SBX735", from + "RUN command -v sudo && sudo true || true\n", ""},
		"sudo by a script":                {"SBX735", from + "COPY a.sh /\nRUN /a.sh\nRUN sudo true\n", ""},
		"several files":                   {"SBX736", from + "COPY a b /to\n", "2:10-2:13"},
		"several files into a folder":     {"SBX736", from + "COPY a b ./\nCOPY a b .\nCOPY [\"a\", \"b\", \"/to/\"]\n", ""},
		"several files by a variable":     {"SBX736", from + "ARG TO\nCOPY a b $TO\n", ""},
		"here-documents":                  {"SBX736", from + "COPY <<A <<B /to\nx\nA\ny\nB\n", "2:14-2:17"},
		"two commands":                    {"SBX737", from + "CMD [\"a\"]\nCMD [\"b\"]\n", "2:1-2:10"},
		"commands of two stages":          {"SBX737", from + "CMD [\"a\"]\nFROM debian:13\nCMD [\"b\"]\n", ""},
		"unheard":                         {"SBX738", from + "ENTRYPOINT a\nCMD [\"b\"]\n", "3:1-3:10"},
		"heard by a script":               {"SBX738", from + "ENTRYPOINT exec a \"$@\"\nCMD [\"b\"]\n", ""},
		"heard":                           {"SBX738", from + "ENTRYPOINT [\"a\"]\nCMD [\"b\"]\n", ""},
		"of itself":                       {"SBX739", from + "ENV A=1 B=$A\n", "2:11-2:13"},
		"of before":                       {"SBX739", from + "ENV A=1\nENV A=2 B=$A\nENV PATH=/x:$PATH\n", ""},
		"misspelt":                        {"SBX740", from + "ARG USERNAME=dev\nUSER $USERNAM\n", "3:6-3:14"},
		"of the image":                    {"SBX740", from + "ARG USERNAME=dev\nENV PATH=$CARGO_HOME/bin:$PATH\n", ""},
		"no name":                         {"SBX741", "ARG TAG\nFROM debian:${TAG}\n", "2:6-2:19"},
		"a default in place":              {"SBX741", "ARG TAG\nFROM debian:${TAG:-13}\n", ""},
		"a suffix":                        {"SBX741", "ARG TAG\nFROM debian${TAG}\n", ""},
		"unseen":                          {"SBX743", from + "RUN curl -f https://x.example/key | tee /key\n", "2:5-2:9"},
		"seen by pipefail":                {"SBX743", from + "RUN set -o pipefail && curl -f https://x.example/key | tee /key\n", ""},
		"seen by what reads":              {"SBX743", from + "RUN curl -f https://x.example/a | tar xz\n", ""},
		"high number":                     {"SBX744", from + "RUN useradd -u 20000000 dev\n", "2:16-2:24"},
		"usual number":                    {"SBX744", from + "RUN useradd -u 1001 dev\n", ""},
		"plain file":                      {"SBX745", from + "ADD a.sh /\n", "2:1-2:4"},
		"archive": {"SBX745",
			from + "ADD a.tar.gz /\nADD https://x.example/a /\nADD https://x.example/a.git /a\nADD $A /\n", ""},
		"dnf asks": {"SBX724", "FROM fedora:43\nRUN dnf install git && dnf clean all\n", "2:5-2:8"},
		"dnf does not ask": {"SBX724",
			"FROM fedora:43\nRUN dnf -y install git\nRUN microdnf install git\nRUN echo assumeyes=1 >> /etc/dnf/dnf.conf && yum install git\n", ""},
		"zypper asks":         {"SBX724", "FROM opensuse/leap:15\nRUN zypper install git && zypper clean\n", "2:5-2:11"},
		"zypper does not ask": {"SBX724", "FROM opensuse/leap:15\nRUN zypper -n install git\n", ""},
		"dnf keeps":           {"SBX723", "FROM fedora:43\nRUN dnf -y install git\n", "2:5-2:8"},
		"dnf cleans": {"SBX723",
			"FROM fedora:43\nRUN dnf -y install git && dnf clean all\nRUN --mount=type=cache,target=/var/cache/dnf dnf -y install x\n", ""},
		"apt twice quiet":                 {"SBX724", from + "RUN apt-get update && apt-get install -q -q git\n", ""},
		"BuildKit's check":                {"SBX746", from + "ENV A b\n", "2:1-2:8"},
		"BuildKit's check, skipped":       {"SBX746", "# check=skip=LegacyKeyValueFormat\n" + from + "ENV A b\n", ""},
		"BuildKit's check, skipped above": {"SBX746", from + "# check=skip=LegacyKeyValueFormat\nENV A b\n", ""},
		"case of instructions":            {"SBX746", from + "run true\nRUN true\n", "2:1-2:9"},
		"an empty line within":            {"SBX746", from + "RUN true && \\\n\n  true\n", "3:1-3:1"},
		"a port of the host":              {"SBX746", from + "EXPOSE 80:80\n", "2:1-2:13"},
		"platform":                        {"SBX746", "FROM --platform=linux/amd64 debian:13\n", "1:1-1:38"},
	} {
		t.Run(name, func(t *testing.T) {
			files := devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`,
				".devcontainer/Dockerfile": c.text}
			var got []string
			for _, f := range judge(t, files) {
				if f.Rule == c.rule {
					got = append(got, fmt.Sprintf("%d:%d-%d:%d", f.Line, f.Column, f.EndLine, f.EndColumn))
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// A .dockerignore with exceptions, and one of the Dockerfile, which wins.
func TestCopyOfWhatIsIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		ignore map[string]string
		want   int
	}{
		"by name":           {map[string]string{".dockerignore": "tool.sh\n"}, 1},
		"by folder":         {map[string]string{".dockerignore": "bin\n"}, 0},
		"with an exception": {map[string]string{".dockerignore": "*\n!tool.sh\n"}, 0},
		"own file wins":     {map[string]string{".dockerignore": "tool.sh\n", "Dockerfile.dockerignore": "x\n"}, 0},
		"bad pattern":       {map[string]string{".dockerignore": "[\n"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			files := devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`,
				".devcontainer/Dockerfile": "FROM debian:13\nCOPY tool.sh /\n", ".devcontainer/tool.sh": "#!/bin/sh\n"}
			for name, text := range c.ignore {
				files[".devcontainer/"+name] = text
			}
			n := 0
			for _, f := range judge(t, files) {
				if f.Rule == "SBX742" {
					n++
				}
			}
			if n != c.want {
				t.Errorf("%d findings, want %d", n, c.want)
			}
		})
	}
}

// As in BuildKit, the file beside the Dockerfile wins, wherever that lies; one beside the
// configuration has no meaning.
func TestDockerignoreBesideADockerfileElsewhere(t *testing.T) {
	for name, c := range map[string]struct {
		ignore map[string]string
		want   string
	}{
		"none":                      {nil, "SBX727"},
		"beside the Dockerfile":     {map[string]string{"docker/Dockerfile.dockerignore": "/tool.sh\n.git\n"}, "SBX742"},
		"beside the configuration":  {map[string]string{".devcontainer/Dockerfile.dockerignore": "tool.sh\n.git\n"}, "SBX727"},
		"of the context":            {map[string]string{".dockerignore": "tool.sh\n**/.git\n"}, "SBX742"},
		"both":                      {map[string]string{".dockerignore": "tool.sh\n.git\n", "docker/Dockerfile.dockerignore": "x\n"}, "SBX727"},
		"history, by an exception":  {map[string]string{".dockerignore": "*\n!tool.sh\n!.git\n"}, "SBX727"},
		"all but what is copied":    {map[string]string{".dockerignore": "*\n!tool.sh\n"}, ""},
		"a pattern that is refused": {map[string]string{".dockerignore": "[\n"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			files := devcontainer.Memory{".devcontainer/devcontainer.json": `{"build": {"dockerfile": "../docker/Dockerfile", "context": ".."}}`,
				"docker/Dockerfile": "FROM debian:13\nCOPY tool.sh /\nCOPY . /src\n", "tool.sh": "#!/bin/sh\n", ".git/HEAD": "ref: refs/heads/main\n"}
			for name, text := range c.ignore {
				files[name] = text
			}
			var got []string
			for _, f := range judge(t, files) {
				if f.Rule == "SBX742" || f.Rule == "SBX727" {
					got = append(got, f.Rule)
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("found %q, want %q", got, c.want)
			}
		})
	}
}
