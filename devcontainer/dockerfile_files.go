package devcontainer

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
)

var (
	remote = regexp.MustCompile(`^(https?|ftp)://`)
	gitURL = regexp.MustCompile(`^(git@|git://|ssh://)|^https?://[^?#]*\.git([?#]|$)`)
	commit = regexp.MustCompile(`[#=:]([0-9a-f]{40}|[0-9a-f]{64})(\b|$)`)
)

// addedAddress reports ADD of an address whose content nobody compares.
func (c *pass) addedAddress() {
	for _, i := range c.build.instructions() {
		add, ok := i.Command.(*instructions.AddCommand)
		if !ok || add.Checksum != "" {
			continue
		}
		for _, source := range add.SourcePaths {
			full := i.Expand(source)
			if git := gitURL.MatchString(full); !git && !remote.MatchString(full) || git && commit.MatchString(full) {
				continue
			}
			start, end := i.Find(source)
			c.inBuild(start, end, "SBX709", "nothing checks the content that this address sends", "add --checksum=sha256:…, for a repository the full commit")
		}
	}
}

// buildSecrets reports keys that ARG and ENV put into the image, and keys that
// are written out anywhere in the file.
func (c *pass) buildSecrets() {
	if c.build == nil {
		return
	}
	report := func(find func(string) (int, int), name string, value *string, expanded string) {
		start, end := find(name)
		switch {
		case value != nil && isSecret(name, expanded):
			c.inBuild(start, end, "SBX501", fmt.Sprintf("%s holds what looks like a key", name), "revoke it, and use RUN --mount=type=secret")
		case secretName.MatchString(name) && (value == nil || *value == "" || strings.Contains(*value, "$")):
			c.inBuild(start, end, "SBX706", fmt.Sprintf("%s stays readable in the image", name), "use RUN --mount=type=secret,id="+name)
		}
	}
	for _, i := range c.build.file.Global {
		if arg, ok := i.Command.(*instructions.ArgCommand); ok {
			for _, kv := range arg.Args {
				report(i.Find, kv.Key, kv.Value, kv.ValueString())
			}
		}
	}
	args := map[*dockerfile.Stage]map[string]bool{}
	for _, s := range c.build.needed {
		args[s] = argued(s)
	}
	for _, i := range c.build.instructions() {
		switch cmd := i.Command.(type) {
		case *instructions.ArgCommand:
			for _, kv := range cmd.Args {
				report(i.Find, kv.Key, kv.Value, kv.ValueString())
			}
		case *instructions.EnvCommand:
			for _, kv := range cmd.Env {
				_, again := c.build.file.Args[kv.Key]
				if empty := strings.Trim(kv.Value, `"'`) == ""; !again && !args[i.Stage][kv.Key] && !empty {
					report(i.Find, kv.Key, &kv.Value, strings.Trim(kv.Value, `"'`))
				}
			}
		case *instructions.RunCommand:
			for _, word := range i.Commands {
				for _, w := range word.Words {
					if key := writtenKey.FindString(w.Text); key != "" && word.Wrapped == "" {
						c.atWord(w, "SBX501", word.Name()+" gets what looks like a key", "revoke it, and use RUN --mount=type=secret")
					}
				}
			}
		}
	}
}

// writtenKey finds a key of a known form inside a word.
var writtenKey = regexp.MustCompile(`\b(sk-ant-[A-Za-z0-9_-]{20}|sk-proj-[A-Za-z0-9_-]{20}|gh[pousr]_[A-Za-z0-9]{30}|github_pat_[A-Za-z0-9_]{30}|glpat-[A-Za-z0-9_-]{20}|A[KS]IA[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{35}|npm_[A-Za-z0-9]{36})`)

// argued returns the names that the ARGs of a stage have: their findings stand
// there, and not at an ENV of the same name.
func argued(s *dockerfile.Stage) map[string]bool {
	names := map[string]bool{}
	for _, i := range s.Instructions {
		if arg, ok := i.Command.(*instructions.ArgCommand); ok {
			for _, kv := range arg.Args {
				names[kv.Key] = true
			}
		}
	}
	return names
}

// secretFile matches files that hold keys, and the repository itself, which
// holds its history.
var secretFile = regexp.MustCompile(`(^|/)(\.env(\.(local|production|development))?|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.git|\.aws|\.ssh|\.gnupg|\.kube|\.docker/config\.json|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\.pem|[^/]*\.key|credentials\.json|service-account[^/]*\.json)/?$`)

// copiedSecrets reports COPY and ADD of what should stay outside. npm's and
// pip's files are also where a registry is named, but that is no reason to
// keep a key in the image.
func (c *pass) copiedSecrets() {
	for _, i := range c.build.instructions() {
		var sources []string
		switch cmd := i.Command.(type) {
		case *instructions.CopyCommand:
			if cmd.From == "" {
				sources = cmd.SourcePaths
			}
		case *instructions.AddCommand:
			sources = cmd.SourcePaths
		}
		for _, source := range sources {
			name := path.Clean(i.Expand(source))
			if remote.MatchString(name) || !secretFile.MatchString(name) || strings.HasSuffix(name, ".pub") || isPublicKey(name) {
				continue
			}
			start, end := i.Find(source)
			c.inBuild(start, end, "SBX714", name+" becomes part of the image", "leave it out; a step that needs it mounts it: RUN --mount=type=secret")
		}
	}
}

// isPublicKey leaves out certificates and keys that packages are signed with.
func isPublicKey(name string) bool {
	return publicKey.MatchString(path.Base(name))
}

var publicKey = regexp.MustCompile(`(?i)(cert|\bca\b|public|root|chain|gpg|keyring|archive|release)`)

// historyCopied notes COPY of a whole context that holds a repository, when
// .dockerignore does not keep that out.
func (c *pass) historyCopied() {
	if c.Tree == nil || c.build == nil {
		return
	}
	context := c.context()
	if leavesTree(context) || c.Tree.Kind(path.Join(context, ".git")) != Folder {
		return
	}
	for _, name := range []string{path.Join(context, ".dockerignore"), path.Join(c.Dir, path.Base(c.Dockerfile.File)+".dockerignore")} {
		if src, err := c.Tree.Read(name); err == nil && ignoresHistory.Match(src) {
			return
		}
	}
	for _, i := range c.build.instructions() {
		if copied, ok := i.Command.(*instructions.CopyCommand); ok && copied.From == "" {
			for _, source := range copied.SourcePaths {
				if path.Clean(source) == "." && len(copied.ExcludePatterns) == 0 {
					start, end := i.Find(" " + source)
					c.inBuild(start+1, end, "SBX727", "the context holds .git, and .dockerignore does not keep it out", "write .git into .dockerignore")
				}
			}
		}
	}
}

var ignoresHistory = regexp.MustCompile(`(?m)^[/*]*(\.git|\*|\.\*)/?\s*$`)
