package devcontainer

import "github.com/org/claude-sandbox/internal/diag"

// templateRules judge dev container Templates, Features that a repository
// publishes, and what an update left behind.
var templateRules = []Rule{
	{ID: "SBX903", Name: "conflict-marker", Severity: diag.SeverityError, Title: "conflict that was not resolved",
		Reason:  "A merge left both sides in the file. Tools that read past errors take the parts they understand.",
		foundBy: "reading"},
	{ID: "SBX904", Name: "option-name", Severity: diag.SeverityError, Title: "option that no file can use",
		Reason: "The reference CLI replaces ${templateOption:NAME} only where NAME is made of letters, digits and _; any other name stays in the file.",
		check:  unusableOptions, about: templates},
	{ID: "SBX905", Name: "raw-boolean-default", Severity: diag.SeverityError, Title: "default of a Template that is no text",
		Reason: "The reference CLI turns a default of false into the empty text, so the file gets neither true nor false.",
		check:  rawDefaults, about: templates},
	{ID: "SBX906", Name: "option-unknown", Severity: diag.SeverityError, Title: "option that is used and not declared",
		Reason: "The reference CLI puts the empty text where an option is not declared.",
		check:  undeclaredOptions, about: templates},
	{ID: "SBX907", Name: "rendered-invalid", Severity: diag.SeverityError, Title: "a choice of options makes a configuration that is not valid",
		Reason: "This choice makes a dev container that does not start, or not as described.",
		check:  invalidRenderings, about: templates},
	{ID: "SBX908", Name: "option-breaks-file", Severity: diag.SeverityError, Title: "an option's value breaks the file",
		Reason: "Values are put into the file as they are: a quote or a backslash ends the string, and the tolerant parser hides it.",
		check:  brokenRenderings, about: templates},
	{ID: "SBX909", Name: "identity", Severity: diag.SeverityWarning, Title: "id or version that cannot be published",
		Reason: "The id must be the folder's name, or it is published under another name than it is found by; the tags 1, 1.2 and 1.2.3 are made from a version of three numbers.",
		check:  identity, about: features | templates},
	{ID: "SBX910", Name: "path-never-applied", Severity: diag.SeverityNote, Title: "optional path that is never written",
		Reason: "It names no file of the Template, or one that tools leave out: devcontainer-template.json, README.md and NOTES.md describe the Template and are not applied.",
		check:  idlePaths, about: templates},
	{ID: "SBX911", Name: "install-missing", Severity: diag.SeverityError, Title: "Feature without install.sh",
		Reason: "The build of every container that uses the Feature fails.",
		check:  installMissing, about: features},
	{ID: "SBX912", Name: "option-unused", Severity: diag.SeverityNote, Title: "option that no file uses",
		Reason: "Its value changes nothing; perhaps the file that used it is gone, or spells it differently.",
		check:  unusedOptions, about: templates},
}
