package lint

import (
	"path"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

var (
	remote = lazyregexp.New(`^(https?|ftp)://`)
	commit = lazyregexp.New(`[#=:]([0-9a-f]{40}|[0-9a-f]{64})(\b|$)`)
)

// addedAddress reports ADD of an address without a checksum of its content.
func addedAddress(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
		add, ok := i.Command.(*instructions.AddCommand)
		if !ok || add.Checksum != "" {
			continue
		}
		for _, source := range add.SourcePaths {
			full := i.Expand(source)
			if git := dockerfile.GitURL.MatchString(full); !git && !remote.MatchString(full) || git && commit.MatchString(full) ||
				strings.HasPrefix(full, "https://api.github.com/") { // asked only so that the cache notices a new commit
				continue
			}
			start, end := i.Find(source)
			out = append(out, v.AtDockerfile(start, end, "nothing checks the content that this address sends",
				"add --checksum=sha256:…, for a repository the full commit"))
		}
	}
	return out
}

// buildVariable is a variable that ARG or ENV sets.
type buildVariable struct {
	name       string
	value      *string // as it is written; nil for none
	expanded   string
	start, end int // of the name
}

// keeps reports whether the variable gets a key at the build, and keeps it.
func (b buildVariable) keeps() bool {
	return secretName.MatchString(b.name) && (b.value == nil || *b.value == "" || strings.Contains(*b.value, "$"))
}

// literal reports whether a key is written out.
func (b buildVariable) literal() bool { return b.value != nil && isSecret(b.name, b.expanded) }

// buildVariables returns those of ARG and ENV. If an ENV only passes an ARG of
// the same name on, the ARG counts, and an empty ENV takes a value away.
func buildVariables(v *rule.View) (out []buildVariable) {
	if v.Build == nil {
		return nil
	}
	add := func(i *dockerfile.Instruction, name string, value *string, expanded string) {
		after := i.Start
		if n := len(out) - 1; n >= 0 && out[n].start >= i.Start {
			after = out[n].end
		}
		start, end := i.FindBehind(after, name)
		out = append(out, buildVariable{name, value, expanded, start, end})
	}
	args := map[*dockerfile.Stage]map[string]bool{}
	for _, s := range v.Build.Needed {
		args[s] = argNames(s.Instructions) // their findings stand there, and not at an ENV of the same name
	}
	for _, i := range append(v.Build.File.Global[:len(v.Build.File.Global):len(v.Build.File.Global)], v.Build.Instructions()...) {
		switch cmd := i.Command.(type) {
		case *instructions.ArgCommand:
			for _, kv := range cmd.Args {
				add(i, kv.Key, kv.Value, kv.ValueString())
			}
		case *instructions.EnvCommand:
			for _, kv := range cmd.Env {
				text := strings.Trim(kv.Value, `"'`)
				if _, again := v.Build.File.Args[kv.Key]; !again && !args[i.Stage][kv.Key] && text != "" {
					add(i, kv.Key, &kv.Value, text)
				}
			}
		}
	}
	return out
}

// buildTimeSecrets reports keys that ARG and ENV put into the image.
func buildTimeSecrets(v *rule.View) (out []rule.Finding) {
	for _, b := range rule.Once(v, "variables of the build", buildVariables) {
		if b.value != nil && isPassword(b.name, b.expanded) && !b.literal() {
			out = append(out, v.AtDockerfile(b.start, b.end, b.name+" is written out, and stays readable in the image",
				"use RUN --mount=type=secret,id="+b.name+", or let the person set it when the container starts"))
		} else if b.keeps() && !b.literal() {
			out = append(out, v.AtDockerfile(b.start, b.end, b.name+" stays readable in the image", "use RUN --mount=type=secret,id="+b.name))
		}
	}
	return out
}

// dockerfileKeys reports keys that are written out anywhere in the Dockerfile.
func dockerfileKeys(v *rule.View) (out []rule.Finding) {
	const hint = "revoke it, and use RUN --mount=type=secret"
	for _, b := range rule.Once(v, "variables of the build", buildVariables) {
		if b.literal() {
			out = append(out, v.AtDockerfile(b.start, b.end, b.name+" holds what looks like a key", hint))
		}
	}
	each(v.Build.Instructions(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		for _, w := range cmd.Words {
			if len(w.Text) >= shortestKey && cmd.Wrapped == "" && writtenKey.MatchString(w.Text) {
				out = append(out, v.AtWord(w, cmd.Name()+" gets what looks like a key", hint))
			}
		}
	})
	return out
}

// writtenKey finds a key of a known form inside a word.
var writtenKey = lazyregexp.New(`\b(sk-ant-[A-Za-z0-9_-]{20}|sk-proj-[A-Za-z0-9_-]{20}|gh[pousr]_[A-Za-z0-9]{30}|` +
	`github_pat_[A-Za-z0-9_]{30}|glpat-[A-Za-z0-9_-]{20}|A[KS]IA[A-Z0-9]{16}\b|AIza[A-Za-z0-9_-]{35}|npm_[A-Za-z0-9]{36})`)

// shortestKey is the length of the shortest key that writtenKey finds.
const shortestKey = len("AKIA") + 16

// secretFile matches files that hold keys, and the repository itself, which
// holds its history.
var secretFile = lazyregexp.New(`(^|/)(\.env(\.(local|production|development))?|\.netrc|\.npmrc|\.pypirc|\.git-credentials|\.git|` +
	`\.aws|\.ssh|\.gnupg|\.kube|\.docker/config\.json|id_(rsa|dsa|ecdsa|ed25519)|[^/]*\.pem|[^/]*\.key|credentials\.json|` +
	`service-account[^/]*\.json)/?$`)

// copiedSecrets reports COPY and ADD of what should stay outside. npm's and
// pip's files are also where a registry is named, but that is no reason to
// keep a key in the image.
func copiedSecrets(v *rule.View) (out []rule.Finding) {
	for _, i := range v.Build.Instructions() {
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
			out = append(out, v.AtDockerfile(start, end, name+" becomes part of the image",
				"leave it out; a step that needs it mounts it: RUN --mount=type=secret"))
		}
	}
	return out
}

// isPublicKey leaves out certificates and keys that packages are signed with.
func isPublicKey(name string) bool {
	return publicKey.MatchString(path.Base(name))
}

var publicKey = lazyregexp.New(`(?i)(cert|\bca\b|bundle|public|root|chain|gpg|keyring|archive|release)`)

// historyCopied notes COPY of a whole context that holds a repository, when
// .dockerignore does not keep that out.
func historyCopied(v *rule.View) (out []rule.Finding) {
	if v.Tree == nil || v.Build == nil {
		return
	}
	context := v.Context()
	if devcontainer.LeavesTree(context) || v.Tree.Kind(path.Join(context, ".git")) != devcontainer.Folder {
		return
	}
	if name, ignore := dockerignore(v, context); name != "" {
		if ignore == nil {
			return // the builder refuses it
		}
		if hit, sure := ignore.keepsOut(".git/objects"); !sure || hit {
			return
		}
	}
	for _, i := range v.Build.Instructions() {
		if copied, ok := i.Command.(*instructions.CopyCommand); ok && copied.From == "" {
			for _, source := range copied.SourcePaths {
				if path.Clean(source) == "." && len(copied.ExcludePatterns) == 0 {
					start, end := i.Find(" " + source)
					out = append(out, v.AtDockerfile(start+1, end, "the context holds .git, and .dockerignore does not keep it out",
						"write .git into .dockerignore"))
				}
			}
		}
	}
	return out
}
