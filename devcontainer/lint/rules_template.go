package lint

import (
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// templateRules judge dev container Templates, Features that a repository
// publishes, and what an update left behind.
var templateRules = []rule.Rule{
	{ID: "SBX903", Name: "conflict-marker", Severity: diag.SeverityError, Title: "conflict that was not resolved",
		Reason:  "A merge left both sides in the file. Tools that read past errors take the parts they understand.",
		FoundBy: "reading"},
	{ID: "SBX904", Name: "option-name", Severity: diag.SeverityError, Title: "option that no file can use",
		Reason: "The reference CLI replaces ${templateOption:NAME} only where NAME is made of letters, digits and _; any other name stays in the file.",
		Check:  unusableOptions, About: rule.Templates},
	{ID: "SBX905", Name: "raw-boolean-default", Severity: diag.SeverityError, Title: "default of a Template that is no text",
		Reason: "The reference CLI turns a default of false into the empty text, so the file gets neither true nor false.",
		Check:  rawDefaults, About: rule.Templates},
	{ID: "SBX906", Name: "option-unknown", Severity: diag.SeverityError, Title: "option that is used and not declared",
		Reason: "The reference CLI puts the empty text where an option is not declared.",
		Check:  undeclaredOptions, About: rule.Templates},
	{ID: "SBX907", Name: "rendered-invalid", Severity: diag.SeverityError, Title: "a choice of options makes a configuration that is not valid",
		Reason: "This choice makes a dev container that does not start, or not as described.",
		Check:  invalidRenderings, About: rule.Templates},
	{ID: "SBX908", Name: "option-breaks-file", Severity: diag.SeverityError, Title: "an option's value breaks the file",
		Reason: "Values are put into the file as they are: a quote or a backslash ends the string, and the tolerant parser hides it.",
		Check:  brokenRenderings, About: rule.Templates},
	{ID: "SBX909", Name: "identity", Severity: diag.SeverityWarning, Title: "id or version that cannot be published",
		Reason: "The id must be the folder's name, or it is published under another name than it is found by; the tags 1, 1.2 and 1.2.3 are made from a version of three numbers.",
		Check:  identity, About: rule.Features | rule.Templates},
	{ID: "SBX910", Name: "path-never-applied", Severity: diag.SeverityNote, Title: "optional path that is never written",
		Reason: "It names no file of the Template, or one that tools leave out: devcontainer-template.json, README.md and NOTES.md describe the Template and are not applied.",
		Check:  idlePaths, About: rule.Templates},
	{ID: "SBX911", Name: "install-missing", Severity: diag.SeverityError, Title: "Feature without install.sh",
		Reason: "The build of every container that uses the Feature fails.",
		Check:  installMissing, About: rule.Features},
	{ID: "SBX912", Name: "option-unused", Severity: diag.SeverityNote, Title: "option that no file uses",
		Reason: "Its value changes nothing; perhaps the file that used it is gone, or spells it differently.",
		Check:  unusedOptions, About: rule.Templates},
}
