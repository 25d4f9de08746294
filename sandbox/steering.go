package sandbox

import (
	"slices"
	"strings"
)

// A variable can change which program a name means, what a program loads
// before its own code, or where its connections go. With
// {"PATH": "/workspace/bin"} the project's own "claude" would run in place of
// the image's. So the project's file may set none of these; docs/threat-model.md
// lists them for people.
var (
	// steeringPrefixes are in upper case; names are compared in upper case,
	// because some programs read http_proxy and some HTTP_PROXY.
	steeringPrefixes = []string{
		"LD_", "DYLD_", "GCONV", "GLIBC_", "MALLOC_", // loader and libc
		"BASH_", "ZSH", "FPATH", // shells
		"NODE_", "BUN_", "DENO_", "NPM_", "YARN_", "PNPM_", "PYTHON", "PIP_", "UV_", "PERL", "RUBY", "GEM_", "BUNDLE_", "JAVA_", "_JAVA", "JDK_", "LUA", "PHP", // interpreters and what they load
		"CARGO_", "RUST", "MAKEF", // build tools that run what a variable names
		"GIT_", "SSH_", "GPG_", "GNUPG", "DOCKER_", "CONTAINER_", "KUBE", // programs that act for the user
		"SSL_", "CURL_", "OPENSSL_", "REQUESTS_", "WGET", "RES_", "LOCALDOMAIN", "HOSTALIASES", // trust and names
		"ANTHROPIC_", "CLAUDE", "MCP_", "OTEL_", "DISABLE_", "ENABLE_", "AWS_", "GOOGLE_", "VERTEX_", "AZURE_", "XDG_", "SBX_", // Claude Code and its providers
	}
	steeringSuffixes = []string{"_PROXY"}
	steeringNames    = []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "ENV", "IFS", "PS4", "CDPATH", "PROMPT_COMMAND", "SHELLOPTS", "TMPDIR", "TMP", "TEMP",
		"EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER", "NLSPATH", "LOCPATH", "TERMINFO", "TERMCAP", "IS_SANDBOX",
		"CC", "CXX", "GOFLAGS", "GOENV", "GOROOT", "GOPATH", "GOPROXY", "GOSUMDB", "GONOSUMDB", "GONOPROXY", "GOPRIVATE", "GOINSECURE", "GOVCS", "GOAUTH", "GOTOOLCHAIN", "GOCACHEPROG",
	}
	// harmlessNames match a prefix above and are common in projects.
	harmlessNames = []string{"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "RUST_BACKTRACE", "RUST_LOG", "AWS_REGION", "AWS_DEFAULT_REGION"}
)

// steers reports whether a variable changes how programs are found or loaded,
// or how they reach the network.
func steers(name string) bool {
	name = strings.ToUpper(name)
	if slices.Contains(harmlessNames, name) {
		return false
	}
	return slices.Contains(steeringNames, name) ||
		slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		slices.ContainsFunc(steeringSuffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
