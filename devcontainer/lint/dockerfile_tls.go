package lint

import (
	"slices"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
)

// tlsOff reports switched-off checks of certificates.
func tlsOff(v *rule.View) (out []rule.Finding) {
	const hint = "install the authority's certificate instead"
	each(v.Build.Instructions(), func(_ *dockerfile.Instruction, cmd *shell.Command) {
		if w, what, ok := insecure(cmd); ok {
			out = append(out, v.AtWord(w, what, hint))
		}
		for _, a := range cmd.Assigns {
			if insecureVariable(a.Name, func() string { return a.Text }) {
				out = append(out, v.AtWord(a.Word, a.Name+" switches the check of certificates off", hint))
			}
		}
	})
	for _, i := range v.Build.Instructions() {
		if e, ok := i.Command.(*instructions.EnvCommand); ok {
			behind := i.Start
			for _, kv := range e.Env {
				if insecureVariable(kv.Key, func() string { return i.Expand(kv.Value) }) {
					start, end := i.FindBehind(behind, kv.Key)
					behind = end
					out = append(out, v.AtDockerfile(start, end, kv.Key+" switches the check of certificates off", hint))
				}
			}
		}
	}
	return out
}

// insecureVariable reports whether a variable with that value switches the check off.
func insecureVariable(name string, value func() string) bool {
	is := func(some ...string) bool { return slices.Contains(some, strings.ToLower(strings.Trim(value(), `"'`))) }
	switch strings.ToUpper(name) {
	case "NODE_TLS_REJECT_UNAUTHORIZED", "PYTHONHTTPSVERIFY":
		return is("0")
	case "GIT_SSL_NO_VERIFY":
		return !is("", "0", "false")
	case "NPM_CONFIG_STRICT_SSL":
		return is("false")
	case "PIP_TRUSTED_HOST", "GOINSECURE", "UV_INSECURE_HOST":
		return !is("")
	case "CURL_INSECURE":
		return is("1")
	}
	return false
}

// insecure finds the word that switches the check off.
func insecure(cmd *shell.Command) (shell.Word, string, bool) {
	find := func(ok func(string) bool) (shell.Word, bool) {
		args := cmd.Args()
		if n := slices.IndexFunc(args, func(w shell.Word) bool { return ok(w.Text) }); n >= 0 {
			return args[n], true
		}
		return shell.Word{}, false
	}
	flag := func(names ...string) (shell.Word, bool) {
		return find(func(s string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return s == n || strings.HasPrefix(s, n+"=") })
		})
	}
	var w shell.Word
	ok := false
	switch cmd.Name() {
	case "curl":
		w, ok = curlInsecure(cmd)
	case "wget":
		w, ok = flag("--no-check-certificate")
	case "npm", "yarn", "pnpm":
		var value shell.Word
		if w, ok = find(func(s string) bool { return strings.Contains(s, "strict-ssl") }); ok {
			value, ok = find(func(s string) bool { return s == "false" || strings.HasSuffix(s, "=false") || s == "--no-strict-ssl" })
			w.End = max(w.End, value.End)
		}
	case "git":
		var value shell.Word
		if w, ok = find(func(s string) bool { return strings.Contains(strings.ToLower(s), "sslverify") }); ok {
			value, ok = find(func(s string) bool { return s == "false" || strings.HasSuffix(s, "=false") || s == "0" })
			w.End = max(w.End, value.End)
		}
	case "pip", "pip3", "uv", "pipx", "python", "python3":
		w, ok = flag("--trusted-host", "--allow-insecure-host")
	case "apt-get", "apt":
		w, ok = flag("--allow-unauthenticated", "--force-yes", "--allow-insecure-repositories", "--no-allow-insecure-repositories=false")
	case "apk":
		w, ok = flag("--allow-untrusted")
	case "yum", "dnf", "microdnf":
		w, ok = flag("--nogpgcheck")
	case "zypper":
		w, ok = flag("--no-gpg-checks")
	case "gem":
		w, ok = find(func(s string) bool { return strings.Contains(s, "ssl_verify_mode") && strings.Contains(s, "0") })
	}
	if ok {
		return w, cmd.Name() + " is told not to check whom it talks to or what it gets", true
	}
	return w, "", false
}

// curlInsecure finds -k in its own word or in a group. Letters of a group
// behind one that takes a value belong to the value ("-okey").
func curlInsecure(cmd *shell.Command) (shell.Word, bool) {
	const valued = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
	skip := false
	for _, w := range cmd.Args() {
		if skip {
			skip = false
			continue
		}
		if w.Text == "--insecure" || w.Text == "--proxy-insecure" {
			return w, true
		}
		if len(w.Text) < 2 || w.Text[0] != '-' || w.Text[1] == '-' {
			continue
		}
		for n, letter := range w.Text[1:] {
			if letter == 'k' {
				return w, true
			}
			if strings.ContainsRune(valued, letter) {
				skip = n+2 == len(w.Text)
				break
			}
		}
	}
	return shell.Word{}, false
}
