package lint

import (
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// supplyRules judge where images, Features and programs come from.
var supplyRules = []rule.Rule{
	{ID: "SBX601", Name: "image-not-pinned", Severity: diag.SeverityNote, Title: "image without a digest",
		Reason: "A tag can be moved to another image at any time. A digest names one image for ever.",
		Check:  unpinnedImages},
	{ID: "SBX602", Name: "latest", Severity: diag.SeverityWarning, Title: "image without a version",
		Reason: "Without a tag, or with latest, each build starts from the newest publication: yesterday's build breaks, and the version that ran is unknown.",
		Check:  floatingImages},
	{ID: "SBX603", Name: "feature-floats", Severity: diag.SeverityNote, Title: "Feature that is not pinned",
		Reason: "A Feature is a script that runs as root while the image is built. With a major version or none, each build runs the newest one.",
		Check:  floatingFeatures},
	{ID: "SBX604", Name: "feature-source", Severity: diag.SeverityWarning, Title: "Feature from an old or unprotected source",
		Reason: "Features by a bare name or from releases on GitHub come from before there were registries and are no longer maintained; over plain http anybody on the way can replace the script.",
		Check:  oldFeatureNames},
	{ID: "SBX605", Name: "lock-stale", Severity: diag.SeverityWarning, Title: "the lock does not fit the Features",
		Reason: "A Feature that the lock lacks is not locked, and the reference CLI does not always say so: with a container in place --frozen-lockfile passes.",
		Check:  lockDiffers},
	{ID: "SBX606", Name: "policy-registry", Severity: diag.SeverityError, Title: "image or Feature from a registry that the organisation's policy refuses",
		Reason: "Only with --policy: the policy says where images and Features may come from.",
		Check:  policyRegistries},
	{ID: "SBX607", Name: "policy-extension", Severity: diag.SeverityError, Title: "extension that the organisation's policy refuses or requires",
		Reason: "Only with --policy: an extension of the editor runs on the user's machine or with the user's rights in the container.",
		Check:  policyExtensions},
	{ID: "SBX608", Name: "piped-into-shell", Severity: diag.SeverityWarning, Title: "download that a shell runs at once",
		Reason: "The script cannot be reviewed, differs from day to day, and a transfer that breaks off runs half of it.",
		Check:  pipedToShell},
	{ID: "SBX609", Name: "feature-overwrites-firewall", Severity: diag.SeverityWarning, Title: "Feature that overwrites the firewall's script",
		Reason: "The Feature claude-code brings an init-firewall.sh of its own and replaces the project's with it, even if that one was better.",
		Check:  firewallOverwritten},
	{ID: "SBX610", Name: "lock-missing", Severity: diag.SeverityNote, Title: "Features without a lock",
		Reason: "devcontainer-lock.json holds the digest of each Feature, so that every build gets the same ones.",
		Check:  noLock},
	{ID: "SBX611", Name: "policy-feature", Severity: diag.SeverityError, Title: "Feature that the organisation's policy refuses or requires",
		Reason: "Only with --policy: the policy says which Features a configuration may not or must have.",
		Check:  policyFeatures},
	{ID: "SBX612", Name: "compose-from-elsewhere", Severity: diag.SeverityWarning, Title: "Compose file or build context from elsewhere, not pinned",
		Reason: "An included Compose file decides about mounts and programs, a build context about the image's content. From a branch or a tag, both change without a change here.",
		Check:  composeRemote},
}
