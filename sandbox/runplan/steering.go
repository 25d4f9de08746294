package runplan

import (
	"regexp"
	"slices"
	"strings"
)

// A variable can change which program a name means, what a program loads
// before its own code, or where its connections go. With
// {"PATH": "/workspace/bin"} the project's own "claude" would run in place of
// the image's. No list holds every such variable, so the rule is the other way
// round: the project's file may set what is known to be data of the project's
// own program. docs/threat-model.md says the same for people.

// steers reports whether a variable of the project's may change how programs
// are found or loaded, or how they reach the network. It does not when its name
// belongs to no program that we know to obey variables, and either its name
// ends as those of plain data do, or its value is a number or a switch, which
// names nothing that could be run or loaded.
func steers(name, value string) bool {
	name = strings.ToUpper(name) // some programs read http_proxy and some HTTP_PROXY
	if slices.Contains(harmlessNames(), name) {
		return false
	}
	if obeyedByPrograms(name) {
		return true
	}
	return !endsAsData(name) && !inertValue.MatchString(value)
}

// inertValue matches numbers and switches.
var inertValue = regexp.MustCompile(`^(?i:[0-9]{1,12}([.][0-9]{1,6})?|true|false|yes|no|on|off|)$`)

// endsAsData reports whether the last word of a name is one that programs'
// data has: an address, a credential, a size. Its destination is still for the
// firewall to allow.
func endsAsData(name string) bool {
	words := strings.Split(name, "_")
	return len(words) > 1 && slices.Contains([]string{
		"URL", "URI", "DSN", "HOST", "HOSTNAME", "PORT", "ADDR", "ADDRESS", "ENDPOINT", "DOMAIN", "ORIGIN", "ORIGINS",
		"DB", "DATABASE", "SCHEMA", "TABLE", "BUCKET", "QUEUE", "TOPIC",
		"USER", "USERNAME", "PASSWORD", "PASS", "KEY", "SECRET", "TOKEN", "ID", "NAME", "EMAIL",
		"ENV", "ENVIRONMENT", "STAGE", "REGION", "ZONE", "LOCALE", "LANGUAGE", "TIMEZONE", "CURRENCY", "THEME",
		"LEVEL", "DEBUG", "FORMAT", "TIMEOUT", "TTL", "INTERVAL", "SIZE", "COUNT", "LIMIT", "WORKERS", "THREADS", "SEED", "ENABLED", "VERSION",
	}, words[len(words)-1])
}

// obeyedByPrograms reports whether a name belongs to a loader, shell,
// interpreter, build tool or client that obeys variables, or is built as the
// names of such are.
func obeyedByPrograms(name string) bool {
	for _, prefix := range []string{
		"LD_", "DYLD_", "GCONV", "GLIBC_", "MALLOC_", // loader and libc
		"BASH", "ZSH", "FPATH", "FZF_", "LESS", "VIM", "NVIM", "EMACS", // shells and what they start
		"NODE", "BUN_", "DENO_", "NPM_", "YARN_", "PNPM_", "COREPACK_", "NVM_", "VOLTA_", // JavaScript
		"PYTHON", "PYENV_", "PIP_", "PIPX_", "POETRY_", "UV_", "CONDA_", "PERL", "RUBY", "RBENV_", "GEM_", "BUNDLE_", "LUA", "PHP",
		"COMPOSER_", // other interpreters
		"JAVA_", "_JAVA", "JDK_", "JVM_", "KOTLIN_", "SBT_", "MAVEN_", "MVN_", "GRADLE_", "DOTNET_", "CORECLR_", "COR_", "COMPLUS_",
		"MSBUILD", "NUGET_", "MONO_",
		"R_", "JULIA_", "ERL_", "ELIXIR_", "MIX_", "HEX_", "GHC", "CABAL_", "STACK_", "OCAML", "OPAM", "SWIFT_",
		"CARGO_", "RUST", "MAKE", "CMAKE_", "NINJA_", "BAZEL", "CCACHE_", "GO1", "GOFLAGS", // build tools
		"GIT_", "SSH_", "GPG_", "GNUPG", "DOCKER_", "COMPOSE_", "BUILDX_", "BUILDKIT_", "CONTAINER_", "PODMAN_", "KUBE", "HELM_", "TF_",
		// that act for the user
		"SSL_", "CURL_", "OPENSSL_", "REQUESTS_", "WGET", "RES_", "LOCALDOMAIN", "HOSTALIASES", // trust and names
		"ANTHROPIC_", "CLAUDE", "MCP_", "OTEL_", "DISABLE_", "ENABLE_", "USE_BUILTIN_", "AWS_", "GOOGLE_", "VERTEX_", "AZURE_", "XDG_",
		"SBX_", // Claude Code, its providers
		"GTK_", "GIO_", "QT_", "RIPGREP_", "PLAYWRIGHT_", "PUPPETEER_", "HUSKY",
	} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	if slices.Contains([]string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "ENV", "IFS", "PS4", "IS_SANDBOX"}, name) {
		return true
	}
	for _, part := range []string{"PRELOAD", "PROXY", "OPTIONS", "HOOK", "PROFILE", "CONFIG", "INIT", "INSECURE", "VERIFY", "SSL",
		"TLS", "CERT"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// harmlessNames are common in projects, and the rules above would refuse them.
func harmlessNames() []string {
	return []string{
		"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "RUST_BACKTRACE", "RUST_LOG", "MIX_ENV",
		"AWS_REGION", "AWS_DEFAULT_REGION", "GOOS", "GOARCH", "CGO_ENABLED", "HUSKY",
		"TZ", "LANG", "LANGUAGE", "LC_ALL", "LC_CTYPE", "LC_MESSAGES", "TERM", "COLORTERM", "NO_COLOR", "FORCE_COLOR", "CI", "DEBUG",
		"PORT", "HOST", "VERSION",
	}
}
