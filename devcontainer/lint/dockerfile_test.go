package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// built is a project that builds the Dockerfile; more are members of its
// configuration.
func built(dockerfile, more string) devcontainer.Memory {
	return devcontainer.Memory{
		".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"` + more + `}`,
		".devcontainer/Dockerfile":        dockerfile,
		".devcontainer/x":                 "", ".devcontainer/.ssh/id_ed25519": "", ".devcontainer/.git/HEAD": "",
		".devcontainer/company-ca.pem": "",
		".devcontainer/setup.sh":       "", ".devcontainer/tool": "",
	}
}

// marked runs the rules and shows each finding that is no note as
// "RULE text-at-its-place".
func marked(t *testing.T, tree devcontainer.Memory, notes bool) string {
	t.Helper()
	var out []string
	for _, f := range judge(t, tree) {
		if f.Severity == diag.SeverityNote && !notes || f.Rule == "SBX749" { // the texts are about other rules
			continue
		}
		line := strings.Split(tree[f.File], "\n")[f.Line-1]
		end := len(line)
		if f.EndLine == f.Line {
			end = f.EndColumn - 1
		}
		out = append(out, f.Rule+" "+line[f.Column-1:end])
	}
	return strings.Join(out, "; ")
}

const from = "FROM debian:13\nRUN useradd -m dev\n"

func TestDockerfileRules(t *testing.T) {
	for _, c := range []struct{ name, src, want string }{
		{"piped into sudo", "RUN curl -fsSL https://x.io/i | sudo -E bash -", "SBX705 curl -fsSL https://x.io/i | sudo -E bash"},
		{"piped through another program", "RUN wget -qO- https://x.io/i | tr -d '\\r' | sh -s -- -y",
			"SBX705 wget -qO- https://x.io/i | tr -d '\\r' | sh"},
		{"process substitution", "SHELL [\"bash\", \"-c\"]\nRUN bash <(curl -s https://x.io/i)", "SBX705 curl"},
		{"command substitution", `RUN sh -c "$(curl -fsSL https://x.io/i)"`, "SBX705 curl"},
		{"eval", `RUN eval "$(wget -O- https://x.io/i)"`, "SBX705 wget"},
		{"python", `RUN curl https://x.io/get.py | python3 -`, "SBX705 curl https://x.io/get.py | python3"},
		{"python -c", `RUN python3 -c "$(curl -fsSL https://x.io/i.py)"`, "SBX705 curl"},
		{"as another user", `RUN su dev -c 'curl https://x.io/i | sh'`, "SBX705 curl https://x.io/i | sh"},
		{"in a here-document", "RUN <<EOF\nset -e\ncurl https://x.io/i | sh\nEOF", "SBX705 curl https://x.io/i | sh"},
		{"in an if", "RUN if true; then \\\n  # why\n  curl https://x.io/i | bash; fi", "SBX705 curl https://x.io/i | bash"},
		{"piped to a program that is no shell", "RUN curl https://x.io/k.asc | gpg --dearmor > /k.gpg", ""},
		{"a script that reads data", "RUN curl https://x.io/d.json | python3 -m json.tool > /d", ""},
		{"a script that is a file", "RUN curl https://x.io/d | sh /usr/share/filter.sh", ""},
		{"checked in between", "RUN curl -o i https://x.io/i && sha256sum -c sums && sh i", ""},
		{"something else is checked", "RUN sha256sum -c sums && curl https://x.io/i | sh", "SBX705 curl https://x.io/i | sh"},
		{"only said", "RUN echo 'curl https://x.io/i | sh'", ""},

		{"sudoers by echo",
			`RUN mkdir -p /etc/sudoers.d && echo dev ALL=\(root\) NOPASSWD:ALL > /etc/sudoers.d/dev && chmod 0440 /etc/sudoers.d/dev`,
			"SBX704 NOPASSWD:ALL"},
		{"sudoers by tee", `RUN printf 'dev ALL=(ALL:ALL) NOPASSWD: ALL\n' | tee -a /etc/sudoers`, `SBX704 'dev ALL=(ALL:ALL) NOPASSWD: ALL\n'`},
		{"sudoers by here-document",
			"RUN mkdir -p /etc/sudoers.d\nRUN cat > /etc/sudoers.d/dev <<EOF\ndev ALL=(ALL) NOPASSWD: ALL\nEOF", "SBX704 cat"},
		{"sudoers by COPY", "COPY <<EOF /etc/sudoers.d/dev\ndev ALL=(ALL) NOPASSWD: ALL\nEOF", "SBX704 NOPASSWD: ALL"},
		{"sudoers by sed", `RUN sed -i 's/^%sudo.*/%sudo ALL=(ALL) NOPASSWD:ALL/' /etc/sudoers`,
			`SBX704 's/^%sudo.*/%sudo ALL=(ALL) NOPASSWD:ALL/'`},
		{"sudoers with a wildcard", `RUN echo 'dev ALL=(root) NOPASSWD: /opt/*' >> /etc/sudoers`, `SBX704 'dev ALL=(root) NOPASSWD: /opt/*'`},
		{"sudoers for one command", `RUN mkdir /etc/sudoers.d && echo 'dev ALL=(root) NOPASSWD: /usr/local/bin/up' > /etc/sudoers.d/dev`, ""},

		{"setuid", "RUN chmod u+s /bin/x", "SBX707 u+s"},
		{"setuid in octal", "RUN chmod 4755 /bin/x", "SBX707 4755"},
		{"setuid by COPY", "COPY --chmod=4755 x /bin/x", "SBX707 --chmod=4755"},
		{"setuid by install", "RUN install -m 6755 x /bin/x", "SBX707 6755"},
		{"setgid folder", "RUN find /opt -type d | xargs -n 1 chmod g+s && chmod 2775 /opt", ""},
		{"writable by all", "RUN chmod -R a+rwX /opt", "SBX717 a+rwX"},
		{"writable by all, through xargs", "RUN find /opt | xargs chmod 0777", ""}, // no operand: not known what
		{"a folder like /tmp", "RUN chmod 1777 /scratch && chmod 777 /tmp", ""},

		{"curl -k in a group", "RUN curl -fsSLko /x https://x.io/x", "SBX720 -fsSLko"},
		{"a value that looks like -k", "RUN curl -okey https://x.io/x", ""},
		{"wget", "RUN wget --no-check-certificate https://x.io/x", "SBX720 --no-check-certificate"},
		{"npm", "RUN npm config set strict-ssl false", "SBX720 strict-ssl false"},
		{"git", "RUN git config --global http.sslVerify false", "SBX720 http.sslVerify false"},
		{"git -c", "RUN git -c http.sslVerify=false clone https://x.io/x", "SBX720 http.sslVerify=false"},
		{"pip", "RUN pip install --trusted-host x.io y", "SBX720 --trusted-host"},
		{"node by ENV", "ENV NODE_TLS_REJECT_UNAUTHORIZED=0", "SBX720 NODE_TLS_REJECT_UNAUTHORIZED"},
		{"node for one command", "RUN NODE_TLS_REJECT_UNAUTHORIZED=0 npm i", "SBX720 NODE_TLS_REJECT_UNAUTHORIZED=0"},
		{"git by export", "RUN export GIT_SSL_NO_VERIFY=true && git clone https://x.io/x", "SBX720 GIT_SSL_NO_VERIFY=true"},
		{"apt", "RUN apt-get update && apt-get install -y --allow-unauthenticated x", "SBX720 --allow-unauthenticated"},
		{"certificates stay checked",
			"ENV NODE_TLS_REJECT_UNAUTHORIZED=1\nRUN npm config set strict-ssl true && git config http.sslVerify true", ""},

		{"ARG without a value", "ARG GITHUB_TOKEN", "SBX706 GITHUB_TOKEN"},
		{"ENV of an ARG", "ARG GITHUB_TOKEN\nENV GITHUB_TOKEN=$GITHUB_TOKEN", "SBX706 GITHUB_TOKEN"},
		{"ENV with a key", "ENV ANTHROPIC_API_KEY=sk-ant-api03-aaaaaaaaaaaaaaaaaaaaaaaa", "SBX501 ANTHROPIC_API_KEY"},
		{"a key in RUN", "RUN git clone https://ghp_0123456789abcdefghijklmnopqrstuvwxyz@github.com/a/b",
			"SBX501 https://ghp_0123456789abcdefghijklmnopqrstuvwxyz@github.com/a/b"},
		{"an example password", "ENV POSTGRES_PASSWORD=postgres", ""},
		{"the name of a file", "ENV TOKEN_FILE=/run/secrets/token", ""},

		{"network of the host", "RUN --network=host env", "SBX718 --network=host"},
		{"ADD of a repository", "ADD https://github.com/a/b.git#v1 /b", "SBX709 https://github.com/a/b.git#v1"},
		{"ADD of a commit", "ADD https://github.com/a/b.git#0123456789012345678901234567890123456789 /b", ""},
		{"ADD of a file", "ADD x.tar.gz /x", ""},
		{"a private key", "COPY --chown=dev .ssh/id_ed25519 /home/dev/.ssh/", "SBX714 .ssh/id_ed25519"},
		{"the repository", "COPY .git /src/.git", "SBX714 .git"},
		{"a public certificate", "COPY company-ca.pem /usr/local/share/ca-certificates/", ""},

		{"from in Python", "RUN <<EOF python3\nfrom os import path\nEOF", "SBX711 from os"},
		{"from in SQL, continued", "RUN echo \"select 1 \\\n  from t\"", "SBX711 from t\""},
		{"user in a document", "COPY <<EOF /x\nUser dev\nEOF", "SBX711 User dev"},
		{"from in the middle of a line", "RUN echo \\\n  select from t # FROM x", ""},
		{"update apart", "RUN apt-get update\nRUN apt-get install -y git", "SBX710 apt-get"},
		{"update twice", "RUN apt-get update\nRUN apt-get update && apt-get install -y git", ""},
		{"asks", "RUN apt-get update && apt-get install git", "SBX724 apt-get"},
		{"told twice to be quiet", "RUN apt-get update && apt-get -q -q install git", ""},
		{"told once to be quiet", "RUN apt-get update && apt-get -q install git", "SBX724 apt-get"},
		{"ENV without a value", "ENV DB_PASSWORD=", ""},
		{"does not ask", "RUN apt-get update && apt-get -y install git && apt-get install -qq git && yes | apt-get install git", ""},
		{"group of the engine", "RUN groupadd -f docker && usermod -aG sudo,docker dev", "SBX708 sudo,docker"},
		{"group of the engine by gpasswd", "RUN gpasswd -a dev docker", "SBX708 docker"},
		{"stage after this one", "COPY --from=later /x /x", "SBX719 --from=later"},
		{"number of a stage that is not there", "COPY --from=7 /x /x", "SBX719 --from=7"},
		{"an image, not a stage", "COPY --from=golang /x /x\nCOPY --from=ghcr.io/a/b:1 /x /x", ""},
		{"a context", "COPY --from=src /x /x", ""},
		{"an instruction with a slip", "EXPSOE 80", "SBX715 EXPSOE"},
		{"an option with a slip", "COPY --form=x a b", "SBX715 COPY --form=x a b"},
	} {
		src := "FROM debian:13 AS unused\nRUN curl https://x.io/i | sh\nRUN echo 'x ALL=(ALL) NOPASSWD:ALL' > /etc/sudoers\n" +
			from + c.src + "\nUSER dev\n"
		more := `}`
		if strings.Contains(c.src, "later") {
			src += "FROM debian:13 AS later\n"
			more = `, "target": "1"}`
		}
		if got := marked(t, built(src, more), false); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

func TestUserOfTheDockerfile(t *testing.T) {
	for _, c := range []struct{ name, src, more, want string }{
		{"root at the end", from + "USER dev\nUSER root\n", "}", "SBX702 USER root"},
		{"root by number", from + "USER 0:0\n", "}", "SBX702 USER 0:0"},
		{"root of an earlier stage", "FROM debian:13 AS a\nUSER root\nFROM a\n", "}", "SBX702 USER root"},
		{"root, but sessions are not", from + "USER root\n", `}, "remoteUser": "dev"`, ""},
		{"an image whose label names a user", "FROM mcr.microsoft.com/devcontainers/base:12\nUSER root\n", "}", ""},
		{"nobody", "FROM debian:13\n", "}", "SBX725 FROM debian:13"},
		{"created with adduser", "FROM alpine:3\nRUN adduser -D dev\n", `}, "remoteUser": "dev"`, ""},
		{"created with a variable", "FROM debian:13\nARG U=dev\nRUN useradd -m $U\nUSER $U\n", "}", ""},
		{"created by a script", "FROM debian:13\nCOPY setup.sh /tmp/\nRUN bash /tmp/setup.sh\n", `}, "remoteUser": "dev"`, ""},
		{"created by a Feature", "FROM debian:13\n",
			`}, "remoteUser": "dev", "features": {"ghcr.io/devcontainers/features/common-utils:2": {"username": "dev"}}`, ""},
		{"in the image", "FROM node:22\n", `}, "remoteUser": "node"`, ""},
		{"perhaps in the image", "FROM example.com/base:1\n", `}, "remoteUser": "dev"`, ""},
		{"created in a stage that is not used", "FROM debian:13 AS a\nRUN useradd dev\nFROM debian:13\n",
			`}, "remoteUser": "dev"`, `SBX703 "dev"`},
		{"nobody created USER", "FROM debian:13\nUSER dev\n", "}", "SBX703 dev"},
		{"a number needs no name", "FROM debian:13\nUSER 1000\n", "}", ""},
		{"target", from + "USER dev\nFROM debian:13 AS b\nUSER root\n", `, "target": "0"}`, ""},
		{"no such target", from + "USER dev\n", `, "target": "b"}`, `SBX712 "b"`},
		{"an argument that nobody takes", "ARG VARIANT=1\nFROM debian:$VARIANT\nUSER 1\n",
			`, "args": {"VARANT": "2", "HTTPS_PROXY": "x"}}`, `SBX713 "VARANT"`},
		{"latest by argument", "ARG V=13\nFROM debian:$V\nUSER 1\n", `, "args": {"V": "latest"}}`, "SBX726 debian:$V"},
	} {
		if got := marked(t, built(c.src, c.more), c.name == "nobody"); strings.TrimPrefix(got, "SBX701 debian:13; ") != c.want &&
			strings.ReplaceAll(got, "; SBX701 debian:13", "") != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
}

// A Dockerfile is judged without a configuration, too, by its own family only.
func TestDockerfileAlone(t *testing.T) {
	for _, name := range []string{"Dockerfile", "Dockerfile.dev", "dev.dockerfile", "Containerfile"} {
		tree := devcontainer.Memory{name: "FROM debian:13\nRUN curl -k https://x.io/i | sh\nUSER root\n"}
		p, err := devcontainer.Load(tree, name, name)
		if err != nil {
			t.Fatal(err)
		}
		if got := reported(lint.Check(p)); got != "SBX701 SBX702 SBX705 SBX720 SBX749" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A placeholder of a Dockerfile that no configuration builds may be filled in before a build; any other wrong name is an error.
func TestPlaceholderOfADockerfile(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"Dockerfile", "FROM REPLACE-ME\n", "warning"},
		{"Dockerfile", "FROM Debian:13\n", "error"},
		{".devcontainer/devcontainer.json", "FROM REPLACE-ME\n", "error"},
	} {
		tree := built(c.text, "}")
		tree["Dockerfile"] = c.text
		p, err := devcontainer.Load(tree, c.name, c.name)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range lint.Check(p) {
			if f.Rule == "SBX322" {
				got = string(f.Severity)
			}
		}
		if got != c.want {
			t.Errorf("%s of %s: %q, not %s", c.text, c.name, got, c.want)
		}
	}
}

// A rate depends on the files: this is one as generated
// configurations have it, some 60 lines with continued shell text.
func BenchmarkDockerfile(b *testing.B) {
	src := "FROM node:22-bookworm-slim AS claude\n" +
		strings.Repeat("RUN set -eu; \\\n    export DEBIAN_FRONTEND=noninteractive; \\\n    apt-get update; \\\n"+
			"    apt-get install -y --no-install-recommends -- git curl; \\\n    rm -rf /var/lib/apt/lists/*\n",
			10) + "RUN useradd --create-home dev\nUSER dev\n"
	tree := devcontainer.Memory{"Dockerfile": src}
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		p, err := devcontainer.Load(tree, "Dockerfile", "Dockerfile")
		if err != nil {
			b.Fatal(err)
		}
		lint.Check(p)
	}
}

// Whatever a Dockerfile, a Compose file and a script hold: no panic, and every
// finding lies inside its file.
func FuzzCheckAround(f *testing.F) {
	f.Add("FROM a AS b\nARG T\nENV T=$T\nRUN <<E\ncurl x | sh\nE\nCOPY --from=c . /\nUSER x\n",
		"services: {s: {build: ., volumes: ['/:/x'], ports: [1], environment: [A_TOKEN]}}", "iptables -A OUTPUT -p udp --dport 53 -j ACCEPT\n")
	f.Add("from\\\n a\nuser\tx", "include: [c.yml]\nservices: {s: {extends: s, network_mode: 'service:s', entrypoint: [a]}}", "")
	f.Fuzz(func(t *testing.T, file, composed, script string) {
		for _, config := range []string{
			`{"build": {"dockerfile": "Dockerfile", "target": "b", "args": {"T": "1"}}, "postStartCommand": "sh .devcontainer/init-firewall.sh"}`,
			`{"dockerComposeFile": "c.yml", "service": "s", "workspaceFolder": "/w", "remoteUser": "x"}`,
		} {
			tree := devcontainer.Memory{".devcontainer/devcontainer.json": config, ".devcontainer/Dockerfile": file, ".devcontainer/c.yml": composed,
				".devcontainer/init-firewall.sh": script, ".devcontainer/sandbox.jsonc": "{}", ".git/HEAD": ""}
			p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", ".devcontainer/devcontainer.json")
			if err != nil {
				t.Fatal(err)
			}
			for _, finding := range lint.Check(p) {
				lines := strings.Split(tree[finding.File], "\n")
				if finding.Line < 1 || finding.Line > len(lines) || finding.Column < 1 || finding.Column > len(lines[finding.Line-1])+4 ||
					finding.EndLine < finding.Line {
					t.Errorf("%+v lies outside", finding)
				}
			}
		}
	})
}
