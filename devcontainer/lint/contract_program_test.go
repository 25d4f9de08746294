package lint_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/release"
)

const (
	initLine  = "COPY --from=ghcr.io/org/claude-sandbox-init:v1 /sbx-init /usr/local/sbin/sbx-init\n"
	startLine = `ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", "--policy", "/etc/sbx/sandbox.jsonc", "--user", "agent", "--"]` + "\n"
)

// programTree is a sandbox that builds a Dockerfile with these lines.
func programTree(t *testing.T, dockerfile string) devcontainer.Memory {
	tree := around()
	tree[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile"}`)
	tree[".devcontainer/Dockerfile"] = dockerfile
	return tree
}

// linesOf lists the findings of one rule with their first lines.
func linesOf(t *testing.T, tree devcontainer.Memory, rule string) string {
	t.Helper()
	var out []string
	for _, f := range judge(t, tree) {
		if f.Rule == rule {
			out = append(out, fmt.Sprint(f.Line))
		}
	}
	return strings.Join(out, " ")
}

// A pull request that puts something else where the firewall is.
func TestDockerfileThatReplacesTheFirewall(t *testing.T) {
	if release.InitRepo() != "ghcr.io/org/claude-sandbox-init" {
		t.Fatal(release.InitRepo())
	}
	after := func(lines string) string { return "FROM a:1\n" + initLine + lines + startLine }
	for _, c := range []struct{ name, dockerfile, want string }{
		{"nothing is replaced", after(""), ""},
		{"by digest", strings.Replace(after(""), ":v1", "@sha256:"+strings.Repeat("a", 64), 1), ""},
		{"another image", strings.Replace(after(""), "ghcr.io/org/", "ghcr.io/0rg/", 1), "2"},
		{"another registry", strings.Replace(after(""), "ghcr.io/org/", "ghcr.example.com/org/", 1), "2"},
		{"an image of a longer name", strings.Replace(after(""), "-init:v1", "-init/x:v1", 1), "2"},
		{"an argument", "ARG I=evil:1\n" + strings.Replace(after(""), "ghcr.io/org/claude-sandbox-init:v1", "${I}", 1), "3"},
		{"no image at all", "FROM a:1\n" + startLine, "2"},
		{"a stage that has it",
			"FROM b:1 AS s\nWORKDIR /claude\nCOPY --from=ghcr.io/org/claude-sandbox-init:v1 /sbx-init /claude/sbx-init\nRUN chmod 0111 sbx-init\n" +
				"FROM a:1\nCOPY --from=s /claude/sbx-init /usr/local/sbin/sbx-init\n" + startLine, ""},
		{"a stage that is the image",
			"FROM ghcr.io/org/claude-sandbox-init:v1 AS s\nFROM a:1\nCOPY --from=s /sbx-init /usr/local/sbin/sbx-init\n" + startLine, ""},
		{"a stage that has another", "FROM b:1 AS s\nRUN make\nFROM a:1\nCOPY --from=s /sbx-init /usr/local/sbin/sbx-init\n" + startLine, "4"},
		{"a stage that replaces it",
			"FROM b:1 AS s\nCOPY --from=ghcr.io/org/claude-sandbox-init:v1 /sbx-init /s/sbx-init\nRUN cp /bin/true /s/sbx-init\nFROM a:1\n" +
				"COPY --from=s /s/sbx-init /usr/local/sbin/sbx-init\n" + startLine, "3"},
		{"copied over later", after("COPY tool /usr/local/sbin/sbx-init\n"), "3"},
		{"copied over earlier", "FROM a:1\nCOPY tool /usr/local/sbin/sbx-init\n" + initLine + startLine, ""},
		{"copied into its folder", after("COPY sbx-init /usr/local/sbin/\n"), "3"},
		{"another name in its folder", after("COPY tool /usr/local/sbin/\n"), ""},
		{"a pattern", after("COPY sbx* /usr/local/sbin/\n"), "3"},
		{"relative to WORKDIR", after("WORKDIR /usr/local\nWORKDIR sbin\nCOPY x ./sbx-init\n"), "5"},
		{"by another way to write the path", after("COPY x /usr/local//bin/../sbin/sbx-init\n"), "3"},
		{"by a variable", after("ENV D=/usr/local/sbin\nCOPY x $D/sbx-init\n"), "4"},
		{"here-document", after("COPY <<EOF /usr/local/sbin/sbx-init\n#!/bin/sh\nEOF\n"), "3"},
		{"here-document into the folder", after("COPY <<sbx-init /usr/local/sbin/\n#!/bin/sh\nsbx-init\n"), "3"},
		{"a folder of the context with it", after("COPY rootfs/ /\n"), "3"},
		{"a pattern of folders with it", after("COPY root* /\n"), "3"},
		{"a folder of the context without", after("COPY other/ /\n"), ""},
		{"a folder of another image", after("COPY --from=evil:1 /out/ /\n"), "3"},
		{"a folder elsewhere", after("COPY --from=node:22 /usr/local/bin/ /usr/local/bin/\n"), ""},
		{"ADD", after("ADD https://example.com/x /usr/local/sbin/sbx-init\n"), "3"},
		{"ADD of an archive", after("ADD x.tar.gz /\n"), "3"},
		{"mv", after("RUN mv /tmp/x /usr/local/sbin/sbx-init\n"), "3"},
		{"cp into the folder", after("RUN cp /tmp/sbx-init /usr/local/sbin\n"), "3"},
		{"ln", after("RUN ln -sf /tmp/x /usr/local/sbin/sbx-init\n"), "3"},
		{"rm", after("RUN cd /usr/local/sbin && rm sbx-init\n"), "3"},
		{"install", after("RUN install -m 0755 /tmp/x /usr/local/sbin/sbx-init\n"), "3"},
		{"tee", after("RUN echo x | tee /usr/local/sbin/sbx-init\n"), "3"},
		{"redirect", after("RUN printf x >/usr/local/sbin/sbx-init\n"), "3"},
		{"curl -o", after("RUN curl -fsSo /usr/local/sbin/sbx-init https://example.com/x\n"), "3"},
		{"curl --output=", after("RUN curl -fsS --output=/usr/local/sbin/sbx-init https://example.com/x\n"), "3"},
		{"dd", after("RUN dd if=/x of=/usr/local/sbin/sbx-init\n"), "3"},
		{"sed -i", after("RUN sed -i s/a/b/ /usr/local/sbin/sbx-init\n"), "3"},
		{"in sh -c", after("RUN sh -c 'mv /x /usr/local/sbin/sbx-init'\n"), "3"},
		{"by sudo", after("RUN sudo mv /x /usr/local/sbin/sbx-init\n"), "3"},
		{"in a here-document", after("RUN <<EOF\nmv /x /usr/local/sbin/sbx-init\nEOF\n"), "4"},
		{"in Python", after("RUN <<EOF\n#!/usr/bin/env python3\nopen('/usr/local/sbin/sbx-init','w')\nEOF\n"), "3"},
		{"executed, chmod, setcap",
			after(
				"RUN chmod 0755 /usr/local/sbin/sbx-init && setcap cap_net_admin+ep /usr/local/sbin/sbx-init && " +
					"/usr/local/sbin/sbx-init version\n"), ""},
		{"spoken of", after("RUN printf '%s\\n' 'ask sbx-init check HOST' >>/etc/motd\n"), ""},
		{"a program of that name elsewhere", strings.Replace(after(""), `["/usr/local/sbin/`, `["/opt/`, 1), "3"},
		{"a word of another program", strings.Replace(after(""), `["/usr`, `["/opt/x", "/usr`, 1), "3"},
		{"a shell of its own",
			strings.Replace(after("SHELL [\"/opt/x\", \"-c\"]\n"), startLine, "ENTRYPOINT /usr/local/sbin/sbx-init run\n", 1), "4"},
		{"behind an init", strings.Replace(after(""), `["/usr`, `["/usr/bin/tini", "--", "/usr`, 1), ""},
		{"looked for in PATH", strings.Replace(after(""), `"/usr/local/sbin/sbx-init"`, `"sbx-init"`, 1), ""},
		{"looked for in another PATH", strings.Replace(after("ENV PATH=/opt:$PATH\n"), `"/usr/local/sbin/sbx-init"`, `"sbx-init"`, 1), "4"},
		{"a here-document around the lines", "FROM a:1\nCOPY evil /usr/local/sbin/sbx-init\nRUN cat >/dev/null <<EOF\n# sbx:begin firewall\n" +
			initLine + "# sbx:end firewall\nEOF\n" + startLine, "2 5"},
		{"a step that goes on around the lines", "FROM a:1\nRUN true \\\n# sbx:begin firewall\n" + initLine + startLine, "4 5"},
		{"all lines in a here-document", "FROM a:1\nCOPY <<EOF /notes\n" + initLine + startLine + "EOF\n", "3 4"},
		{"another stage is the container", after("") + "FROM a:1\nRUN true\n", "4"},
		{"a mirror that somebody looked at",
			strings.Replace("FROM a:1\n# sbx-ignore SBX822: our mirror\n"+initLine+startLine, "ghcr.io/org/", "mirror.example.com/", 1), ""},
	} {
		tree := programTree(t, c.dockerfile)
		tree[".devcontainer/rootfs/usr/local/sbin/sbx-init"] = "#!/bin/sh\n"
		tree[".devcontainer/other/usr/local/sbin/tool"] = "#!/bin/sh\n"
		if got := linesOf(t, tree, "SBX822"); got != c.want {
			t.Errorf("%s: lines %q, want %q\n%s", c.name, got, c.want, c.dockerfile)
		}
	}
}

// The build can be given something else under the image's own name.
func TestBuildContextThatReplacesTheFirewall(t *testing.T) {
	tree := programTree(t, "FROM a:1\n"+initLine+startLine)
	tree[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`,
		`"build": {"dockerfile": "Dockerfile", "options": ["--build-context=ghcr.io/org/claude-sandbox-init:v1=docker-image://evil:1"]}`)
	if got := linesOf(t, tree, "SBX822"); got != "2" {
		t.Errorf("lines %q", got)
	}
}

// An organisation's policy excuses a mirror that it names, not a whole registry.
func TestPolicyNamesAMirrorOfTheFirewall(t *testing.T) {
	for _, c := range []struct{ policy, want string }{
		{`{"registries": {"allow": ["a", "docker.io", "mirror.example.com/claude-sandbox-init"]}}`, ""},
		{`{"registries": {"allow": ["docker.io", "mirror.example.com"]}}`, "2"},
		{`{"registries": {"allow": ["mirror.example.com/claude-sandbox-init"], "forbid": ["mirror.example.com"]}}`, "2"},
	} {
		tree := programTree(t, strings.Replace("FROM a:1\n"+initLine+startLine, "ghcr.io/org/", "mirror.example.com/", 1))
		tree["policy.jsonc"] = c.policy
		if got := linesOf(t, tree, "SBX822"); got != c.want {
			t.Errorf("%s: lines %q, want %q", c.policy, got, c.want)
		}
	}
}

// Settings that the Dockerfile copies must be there.
func TestSettingsThatTheDockerfileCopies(t *testing.T) {
	const lines = "FROM a:1\n" + initLine + "COPY sandbox.jsonc /etc/sbx/sandbox.jsonc\n" + startLine
	for _, c := range []struct {
		name, want string
		change     func(devcontainer.Memory)
	}{
		{"there", "", func(devcontainer.Memory) {}},
		{"gone", "3", func(m devcontainer.Memory) { delete(m, ".devcontainer/sandbox.jsonc") }},
		{"in another context", "3", func(m devcontainer.Memory) {
			m[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile", "context": ".."}`)
		}},
		{"named from another context", "", func(m devcontainer.Memory) {
			m[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile", "context": ".."}`)
			m[".devcontainer/Dockerfile"] = strings.Replace(lines, "COPY sandbox", "COPY .devcontainer/sandbox", 1)
		}},
		{"a context outside", "", func(m devcontainer.Memory) {
			delete(m, ".devcontainer/sandbox.jsonc")
			m[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`, `"build": {"dockerfile": "Dockerfile", "context": "../.."}`)
		}},
		{"made by the host", "", func(m devcontainer.Memory) {
			delete(m, ".devcontainer/sandbox.jsonc")
			m[".devcontainer/devcontainer.json"] = with(t, `"image": "a:1"`,
				`"initializeCommand": "make .devcontainer/sandbox.jsonc", "build": {"dockerfile": "Dockerfile"}`)
		}},
		{"of another stage", "", func(m devcontainer.Memory) {
			delete(m, ".devcontainer/sandbox.jsonc")
			m[".devcontainer/Dockerfile"] = strings.Replace(lines, "COPY sandbox", "COPY --from=b:1 sandbox", 1)
		}},
	} {
		tree := programTree(t, lines)
		c.change(tree)
		if got := linesOf(t, tree, "SBX823"); got != c.want {
			t.Errorf("%s: lines %q, want %q", c.name, got, c.want)
		}
	}
	if findings := lint.Check(devcontainer.Parse("f", []byte(programTree(t, lines)[".devcontainer/devcontainer.json"]))); strings.Contains(
		reported(findings), "SBX823") {
		t.Errorf("from standard input: %v", findings)
	}
}
