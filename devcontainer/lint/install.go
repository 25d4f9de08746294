package lint

import (
	"bytes"
	"fmt"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/devcontainer/shell"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// startsBash matches scripts that give themselves to bash before sh reads the rest.
var startsBash = lazyregexp.New(`exec\s+(\S*/)?(env\s+)?bash`)

// brokenInstalls reports an install.sh that its shell refuses.
func brokenInstalls(v *rule.View) []rule.Finding {
	if v.Build == nil {
		return nil
	}
	src := v.Build.File.Doc.Src
	program := dockerfile.Interpreter(src)
	if at := bytes.IndexByte(src, '\n'); at > 0 && src[at-1] == '\r' {
		return []rule.Finding{v.AtDockerfile(0, at, "the lines end with CR LF, so the system looks for a program whose name ends with CR",
			"save it with LF, and write *.sh text eol=lf into .gitattributes")}
	}
	if program != "" && program != "bash" && program != "sh" && program != "dash" {
		return nil // another language
	}
	at := func(offset int, message, hint string) rule.Finding {
		offset = min(max(offset, 0), len(src))
		end := offset + max(1, len(bytes.TrimRight(src[offset:lineEnd(src, offset)], "\r")))
		return v.AtDockerfile(offset, min(end, len(src)), message, hint)
	}
	if offset, why, refused := shell.Refused(string(src), false); refused {
		return []rule.Finding{at(offset, fmt.Sprintf("the shell refuses the script: %s", why), "try it with: bash -n install.sh")}
	}
	if program == "bash" || startsBash.Match(src) {
		return nil
	}
	if offset, why, refused := shell.Refused(string(src), true); refused {
		f := at(offset, fmt.Sprintf("sh is no bash in Debian, Ubuntu and Alpine, and refuses this: %s", why),
			"begin the script with #!/usr/bin/env bash")
		f.Severity = diag.SeverityWarning
		return []rule.Finding{f}
	}
	return nil
}

func lineEnd(src []byte, offset int) int {
	if n := bytes.IndexByte(src[offset:], '\n'); n >= 0 {
		return offset + n
	}
	return len(src)
}

// strayDefaults reports an option whose default is none of the values that it allows.
func strayDefaults(v *rule.View) (out []rule.Finding) {
	for _, m := range options(v) {
		enum, fallback := m.Value.Member("enum"), m.Value.Member("default")
		value, ok := fallback.Str()
		if enum == nil || !ok || len(enum.Elements) == 0 {
			continue
		}
		found := false
		for _, n := range enum.Elements {
			found = found || n.TextOr("") == value
		}
		if !found {
			out = append(out, v.AtValue(fallback, fmt.Sprintf("the default of %s is none of the values in enum", m.Name),
				"add it there, or name one of them"))
		}
	}
	return out
}
