package devcontainer

import (
	"slices"

	"github.com/org/claude-sandbox/internal/diag"
)

// Rule describes one check. Its ID is stable; findings carry it.
type Rule struct {
	ID       string
	Severity diag.Severity
	Title    string // what is wrong; lower case, no full stop
}

// rules is the table that findings take their severity from. The syntax rules
// belong to package jsonc, which reports them with severities of its own.
var rules = []Rule{
	{"SBX101", diag.SeverityError, "syntax error"},
	{"SBX102", diag.SeverityError, "a name is given twice"},
	{"SBX103", diag.SeverityNote, "trailing comma"},
	{"SBX104", diag.SeverityWarning, "byte order mark"},
	{"SBX105", diag.SeverityError, "empty file"},
	{"SBX106", diag.SeverityError, "control character in a string"},

	{"SBX201", diag.SeverityError, "unknown property"},
	{"SBX202", diag.SeverityError, "wrong type"},
	{"SBX203", diag.SeverityError, "value not accepted"},
	{"SBX204", diag.SeverityError, "required property missing"},
	{"SBX205", diag.SeverityError, "no image source, or more than one"},
	{"SBX206", diag.SeverityError, "property without effect in this kind of configuration"},
	{"SBX207", diag.SeverityWarning, "legacy property"},
	{"SBX208", diag.SeverityWarning, "property outside the specification"},

	{"SBX301", diag.SeverityError, "text where true or false is meant"},
	{"SBX302", diag.SeverityError, "readonly of an object mount is lost"},

	{"SBX401", diag.SeverityError, "the container engine's socket is handed in"},
	{"SBX402", diag.SeverityError, "privileged container"},
	{"SBX403", diag.SeverityError, "dangerous capability"},
	{"SBX404", diag.SeverityError, "namespace shared with the host"},
	{"SBX405", diag.SeverityError, "kernel confinement switched off"},
	{"SBX407", diag.SeverityError, "sensitive folder of the host is mounted"},
	{"SBX408", diag.SeverityWarning, "initializeCommand runs on the host"},

	{"SBX501", diag.SeverityError, "secret written into the file"},
	{"SBX502", diag.SeverityWarning, "secret in the container's environment"},

	{"SBX801", diag.SeverityError, "the firewall lacks NET_ADMIN"},
	{"SBX802", diag.SeverityError, "the firewall in the image's ENTRYPOINT never runs"},
	{"SBX803", diag.SeverityError, "the firewall starts in a hook, which fails open"},
	{"SBX805", diag.SeverityError, "the agent can undo the firewall"},
	{"SBX806", diag.SeverityError, ".devcontainer can be changed from inside"},
	{"SBX807", diag.SeverityError, "git hooks or configuration can be changed from inside"},
}

func severityOf(id string) diag.Severity {
	i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == id })
	if i < 0 {
		panic("devcontainer: rule " + id + " is not in the table")
	}
	return rules[i].Severity
}
