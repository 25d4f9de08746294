package lint

import (
	"github.com/org/claude-sandbox/devcontainer/contract"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// syntaxRules are reported by package jsonc while it parses.
var syntaxRules = []rule.Rule{
	{ID: "SBX101", Name: "syntax", Severity: diag.SeverityError, FoundBy: "jsonc"},
	{ID: "SBX102", Name: "duplicate-name", Severity: diag.SeverityError, Check: twiceInCompose, FoundBy: "jsonc"},
	{ID: "SBX103", Name: "trailing-comma", Severity: diag.SeverityNote, Category: rule.Style, FoundBy: "jsonc"},
	{ID: "SBX104", Name: "byte-order-mark", Severity: diag.SeverityWarning, Category: rule.Style, FoundBy: "jsonc"},
	{ID: "SBX105", Name: "empty-file", Severity: diag.SeverityError, FoundBy: "jsonc"},
	{ID: "SBX106", Name: "control-character", Severity: diag.SeverityError, Check: hiddenOrder, FoundBy: "jsonc",
		About: rule.Configurations | rule.Features | rule.Templates},
	{ID: "SBX107", Name: "suppression-form", Severity: diag.SeverityError, FoundBy: "suppress"},
	{ID: "SBX108", Name: "suppression-unused", Severity: diag.SeverityWarning, FoundBy: "suppress"},
	{ID: "SBX109", Name: "unchecked", Severity: diag.SeverityError, Check: unchecked, Last: true},
}

// schemaRules are reported by the comparison with the property tables. Those
// of sandbox.jsonc come from package settings.
var schemaRules = []rule.Rule{
	{ID: "SBX201", Name: "unknown-property", Severity: diag.SeverityError, Spoils: rule.Misspelt, FoundBy: "schema"},
	{ID: "SBX202", Name: "wrong-type", Severity: diag.SeverityError, Spoils: rule.Mistyped, FoundBy: "schema"},
	{ID: "SBX203", Name: "value-not-accepted", Severity: diag.SeverityError, Spoils: rule.Mistyped, FoundBy: "schema"},
	{ID: "SBX204", Name: "required-property", Severity: diag.SeverityError, Spoils: rule.Malformed, FoundBy: "schema"},
	{ID: "SBX205", Name: "image-source", Severity: diag.SeverityError, FoundBy: "schema"},
	{ID: "SBX206", Name: "no-effect", Severity: diag.SeverityError, FoundBy: "schema"},
	{ID: "SBX207", Name: "legacy-property", Severity: diag.SeverityWarning, FoundBy: "schema",
		Corrects: []string{"customizations", "extensions", "settings", "devPort"}},
	{ID: "SBX208", Name: "outside-specification", Severity: diag.SeverityWarning, FoundBy: "schema"},
	{ID: "SBX210", Name: "network-entry", Severity: diag.SeverityError, Check: contract.FeatureEntries, FoundBy: "settings"},
	{ID: "SBX211", Name: "list-file", Severity: diag.SeverityError, FoundBy: "settings"},
	{ID: "SBX212", Name: "network-review", Severity: diag.SeverityWarning, FoundBy: "settings"},
}

// referenceRules are facts about the reference dev container CLI. A test asks
// the CLI itself for each of them.
var referenceRules = []rule.Rule{
	{ID: "SBX301", Name: "text-boolean", Severity: diag.SeverityError, Spoils: rule.Mistyped, FoundBy: "schema"},
	{ID: "SBX302", Name: "object-mount-readonly", Severity: diag.SeverityError, Check: objectMounts, Corrects: []string{"mounts"}},
	{ID: "SBX303", Name: "null-variable", Severity: diag.SeverityError, Spoils: rule.Mistyped, FoundBy: "schema"},
	{ID: "SBX304", Name: "unknown-variable", Severity: diag.SeverityWarning, Check: unknownVariables},
	{ID: "SBX305", Name: "cut-default", Severity: diag.SeverityWarning, Check: cutDefaults},
	{ID: "SBX306", Name: "variable-without-name", Severity: diag.SeverityError, Check: namelessVariables},
	{ID: "SBX307", Name: "env-alias", Severity: diag.SeverityNote, Category: rule.Style, Check: unspecifiedVariables},
	{ID: "SBX308", Name: "container-variable-too-early", Severity: diag.SeverityWarning, Check: earlyVariables},
	{ID: "SBX309", Name: "workspace-mount-alone", Severity: diag.SeverityWarning, Check: workspaceUnopened,
		Corrects: []string{"workspaceFolder"}},
	{ID: "SBX310", Name: "mount-syntax", Severity: diag.SeverityError, Check: mountSyntax, Spoils: rule.Malformed},
	{ID: "SBX311", Name: "file-missing", Severity: diag.SeverityError, Check: filesMissing},
	{ID: "SBX312", Name: "duplicate-target", Severity: diag.SeverityWarning, Check: duplicateTargets},
	{ID: "SBX313", Name: "service-missing", Severity: diag.SeverityError, Check: serviceMissing},
	{ID: "SBX314", Name: "array-is-no-shell", Severity: diag.SeverityWarning, Check: arrayCommands,
		About: rule.Configurations | rule.Features},
	{ID: "SBX315", Name: "shadowed-configuration", Severity: diag.SeverityWarning, Check: shadowed},
	{ID: "SBX316", Name: "compose-file-refused", Severity: diag.SeverityError, Check: composeRefused},
	{ID: "SBX317", Name: "workspace-elsewhere", Severity: diag.SeverityWarning, Check: workspaceElsewhere},
	{ID: "SBX318", Name: "hook-script", Severity: diag.SeverityError, Check: hookScripts},
	{ID: "SBX319", Name: "hook-syntax", Severity: diag.SeverityError, Check: hookSyntax,
		About: rule.Configurations | rule.Features},
	{ID: "SBX320", Name: "literal-variable", Severity: diag.SeverityWarning, Check: literalVariables},
	{ID: "SBX321", Name: "run-argument", Severity: diag.SeverityError, Check: runArguments, About: rule.Configurations | rule.Features},
	{ID: "SBX322", Name: "image-name", Severity: diag.SeverityError, Check: imageNames,
		About: rule.Configurations | rule.Dockerfiles},
	{ID: "SBX323", Name: "forward-pair", Severity: diag.SeverityWarning, Check: forwardedPairs},
	{ID: "SBX324", Name: "editor-name", Severity: diag.SeverityWarning, Check: editorNames},
	{ID: "SBX325", Name: "feature-mistake", Severity: diag.SeverityWarning, Check: featureMistakes},
	{ID: "SBX326", Name: "service-ends", Severity: diag.SeverityError, Check: serviceEnds},
	{ID: "SBX327", Name: "path-lost", Severity: diag.SeverityError, Check: lostPaths},
	{ID: "SBX328", Name: "hook-never-ends", Severity: diag.SeverityWarning, Check: endlessHooks},
	{ID: "SBX329", Name: "hook-fails-again", Severity: diag.SeverityWarning, Check: onceOnlyHooks},
	{ID: "SBX330", Name: "volume-of-root", Severity: diag.SeverityWarning, Check: rootsVolumes},
	{ID: "SBX331", Name: "database-refuses", Severity: diag.SeverityError, Check: refusingServers},
	{ID: "SBX332", Name: "database-elsewhere", Severity: diag.SeverityWarning, Check: lostConnections},
	{ID: "SBX333", Name: "server-misused", Severity: diag.SeverityWarning, Check: misusedServers},
}

// hostRules judge what lets the container out to the host.
var hostRules = []rule.Rule{
	{ID: "SBX401", Name: "engine-socket", Severity: diag.SeverityError, Check: engineAccess, About: rule.Configurations | rule.Features},
	{ID: "SBX402", Name: "privileged", Severity: diag.SeverityError, Check: privileged, About: rule.Configurations | rule.Features},
	{ID: "SBX403", Name: "dangerous-capability", Severity: diag.SeverityError, Check: dangerousCapabilities,
		About: rule.Configurations | rule.Features},
	{ID: "SBX404", Name: "host-namespace", Severity: diag.SeverityError, Check: hostNamespaces},
	{ID: "SBX405", Name: "unconfined", Severity: diag.SeverityError, Check: unconfined, About: rule.Configurations | rule.Features},
	{ID: "SBX406", Name: "device", Severity: diag.SeverityWarning, Check: devices},
	{ID: "SBX407", Name: "sensitive-mount", Severity: diag.SeverityError, Check: sensitiveMounts,
		About: rule.Configurations | rule.Features},
	{ID: "SBX408", Name: "initialize-command", Severity: diag.SeverityWarning, Check: hostCommands},
	{ID: "SBX409", Name: "way-to-others", Severity: diag.SeverityWarning, Check: waysToOthers},
	{ID: "SBX410", Name: "build-opens-host", Severity: diag.SeverityWarning, Check: buildOpensHost},
	{ID: "SBX411", Name: "published-everywhere", Severity: diag.SeverityWarning, Check: publishedPorts},
	{ID: "SBX412", Name: "feature-privilege", Severity: diag.SeverityWarning, Check: featureRights},
	{ID: "SBX413", Name: "new-privileges", Severity: diag.SeverityNote, Check: contract.NewPrivileges},
	{ID: "SBX414", Name: "policy-capability", Severity: diag.SeverityError, OfPolicy: true, Check: policyCapabilities},
	{ID: "SBX415", Name: "policy-mount", Severity: diag.SeverityError, OfPolicy: true, Check: policyMounts},
	{ID: "SBX416", Name: "policy-property", Severity: diag.SeverityError, OfPolicy: true, Check: policyProperties},
	{ID: "SBX417", Name: "session-socket", Severity: diag.SeverityWarning, Check: sessionSockets,
		About: rule.Configurations | rule.Features},
	{ID: "SBX418", Name: "compose-provider", Severity: diag.SeverityWarning, Check: composeProviders},
}

// secretRules judge how keys reach the container.
var secretRules = []rule.Rule{
	{ID: "SBX501", Name: "literal-secret", Severity: diag.SeverityError, Check: literalSecrets,
		About: rule.Configurations | rule.Features | rule.Dockerfiles},
	{ID: "SBX502", Name: "inspectable-secret", Severity: diag.SeverityWarning, Check: inspectableSecrets},
	{ID: "SBX503", Name: "session-secret", Severity: diag.SeverityNote, Check: sessionSecrets},
	{ID: "SBX504", Name: "build-secret", Severity: diag.SeverityWarning, Check: buildSecrets},
	{ID: "SBX505", Name: "env-file-inside", Severity: diag.SeverityWarning, Check: envFilesInside},
	{ID: "SBX506", Name: "editor-sockets", Severity: diag.SeverityNote, Check: editorSockets, Corrects: []string{"remoteEnv"}},
	{ID: "SBX507", Name: "secret-for-agent", Severity: diag.SeverityWarning, Check: secretsForAgent},
}

// supplyRules judge where images, Features and programs come from.
var supplyRules = []rule.Rule{
	{ID: "SBX601", Name: "image-not-pinned", Severity: diag.SeverityNote, Check: unpinnedImages},
	{ID: "SBX602", Name: "latest", Severity: diag.SeverityWarning, Check: floatingImages},
	{ID: "SBX603", Name: "feature-floats", Severity: diag.SeverityNote, Check: floatingFeatures},
	{ID: "SBX604", Name: "feature-source", Severity: diag.SeverityWarning, Check: oldFeatureNames},
	{ID: "SBX605", Name: "lock-stale", Severity: diag.SeverityWarning, Category: rule.Correctness, Check: lockDiffers},
	{ID: "SBX606", Name: "policy-registry", Severity: diag.SeverityError, OfPolicy: true, Check: policyRegistries},
	{ID: "SBX607", Name: "policy-extension", Severity: diag.SeverityError, OfPolicy: true, Check: policyExtensions},
	{ID: "SBX608", Name: "piped-into-shell", Severity: diag.SeverityWarning, Check: pipedToShell,
		About: rule.Configurations | rule.Features},
	{ID: "SBX609", Name: "feature-overwrites-firewall", Severity: diag.SeverityWarning, Check: firewallOverwritten},
	{ID: "SBX610", Name: "lock-missing", Severity: diag.SeverityNote, Check: noLock},
	{ID: "SBX611", Name: "policy-feature", Severity: diag.SeverityError, OfPolicy: true, Check: policyFeatures},
	{ID: "SBX612", Name: "compose-from-elsewhere", Severity: diag.SeverityWarning, Check: composeRemote},
}

// dockerfileRules judge the Dockerfile that the configuration builds: the
// stage that becomes the container, and those that it takes from.
var dockerfileRules = []rule.Rule{
	{ID: "SBX701", Name: "from-without-digest", Severity: diag.SeverityNote, Category: rule.SupplyChain, Check: fromUnpinned},
	{ID: "SBX702", Name: "ends-as-root", Severity: diag.SeverityWarning, Category: rule.Security, Check: endsAsRoot},
	{ID: "SBX703", Name: "user-missing", Severity: diag.SeverityError, Check: userMissing},
	{ID: "SBX704", Name: "sudo-without-password", Severity: diag.SeverityWarning, Category: rule.Security, Check: sudoers,
		About: rule.Configurations | rule.Features},
	{ID: "SBX705", Name: "download-piped-to-shell", Severity: diag.SeverityWarning, Category: rule.SupplyChain, Check: downloadRun,
		About: rule.Configurations | rule.Features},
	{ID: "SBX706", Name: "secret-in-build", Severity: diag.SeverityWarning, Category: rule.Security, Check: buildTimeSecrets},
	{ID: "SBX707", Name: "setuid-program", Severity: diag.SeverityWarning, Category: rule.Security, Check: setuidModes,
		About: rule.Configurations | rule.Features},
	{ID: "SBX708", Name: "engine-group", Severity: diag.SeverityWarning, Category: rule.Security, Check: engineGroup,
		About: rule.Configurations | rule.Features},
	{ID: "SBX709", Name: "add-without-checksum", Severity: diag.SeverityWarning, Category: rule.SupplyChain, Check: addedAddress},
	{ID: "SBX710", Name: "stale-package-list", Severity: diag.SeverityWarning, Check: staleLists},
	{ID: "SBX711", Name: "misread-line", Severity: diag.SeverityWarning, Check: misread},
	{ID: "SBX712", Name: "target-missing", Severity: diag.SeverityError, Check: targetMissing},
	{ID: "SBX713", Name: "build-argument-unused", Severity: diag.SeverityWarning, Check: unusedArguments},
	{ID: "SBX714", Name: "secret-file-copied", Severity: diag.SeverityWarning, Category: rule.Security, Check: copiedSecrets},
	{ID: "SBX715", Name: "dockerfile-refused", Severity: diag.SeverityError, Check: buildProblems},
	{ID: "SBX716", Name: "download-unverified", Severity: diag.SeverityNote, Category: rule.SupplyChain, Check: unverified,
		About: rule.Configurations | rule.Features},
	{ID: "SBX717", Name: "world-writable", Severity: diag.SeverityWarning, Category: rule.Security, Check: writableModes,
		About: rule.Configurations | rule.Features},
	{ID: "SBX718", Name: "insecure-build-step", Severity: diag.SeverityError, Category: rule.Security, Check: insecureStep},
	{ID: "SBX719", Name: "stage-missing", Severity: diag.SeverityError, Check: stageMissing},
	{ID: "SBX720", Name: "tls-check-off", Severity: diag.SeverityWarning, Category: rule.Security, Check: tlsOff,
		About: rule.Configurations | rule.Features},
	{ID: "SBX721", Name: "onbuild", Severity: diag.SeverityNote, Category: rule.Style, Check: onbuild},
	{ID: "SBX722", Name: "recommended-packages", Severity: diag.SeverityNote, Category: rule.Style, Check: recommendedPackages},
	{ID: "SBX723", Name: "package-lists-left", Severity: diag.SeverityNote, Category: rule.Style, Check: keptLists},
	{ID: "SBX724", Name: "install-asks", Severity: diag.SeverityWarning, Check: askingInstalls, About: rule.Configurations | rule.Features},
	{ID: "SBX725", Name: "no-user", Severity: diag.SeverityNote, Category: rule.Security, Check: noUser},
	{ID: "SBX726", Name: "from-latest", Severity: diag.SeverityWarning, Category: rule.SupplyChain, Check: newestImages},
	{ID: "SBX727", Name: "history-copied", Severity: diag.SeverityNote, Category: rule.Style, Check: historyCopied},
	{ID: "SBX728", Name: "foreign-frontend", Severity: diag.SeverityWarning, Category: rule.SupplyChain, Check: foreignFrontend},
	{ID: "SBX729", Name: "copy-source-missing", Severity: diag.SeverityError, Check: copiedMissing},
	{ID: "SBX730", Name: "argument-unset", Severity: diag.SeverityWarning, Check: unsetArguments},
	{ID: "SBX731", Name: "array-as-text", Severity: diag.SeverityWarning, Check: quotedArrays},
	{ID: "SBX732", Name: "stage-twice", Severity: diag.SeverityWarning, Check: stagesTwice},
	{ID: "SBX733", Name: "workdir-relative", Severity: diag.SeverityWarning, Check: relativeWorkdirs},
	{ID: "SBX734", Name: "effect-lost", Severity: diag.SeverityWarning, Check: lostEffects},
	{ID: "SBX735", Name: "sudo-missing", Severity: diag.SeverityError, Check: missingSudo},
	{ID: "SBX736", Name: "copy-to-no-folder", Severity: diag.SeverityWarning, Check: severalSources},
	{ID: "SBX737", Name: "instruction-replaced", Severity: diag.SeverityWarning, Check: repeatedInstructions},
	{ID: "SBX738", Name: "command-unheard", Severity: diag.SeverityWarning, Check: unheardCommand},
	{ID: "SBX739", Name: "env-of-itself", Severity: diag.SeverityWarning, Check: selfReferences},
	{ID: "SBX740", Name: "variable-misspelt", Severity: diag.SeverityWarning, Check: misspeltVariables,
		About: rule.Configurations | rule.Features},
	{ID: "SBX741", Name: "image-name-empty", Severity: diag.SeverityError, Check: emptyImages},
	{ID: "SBX742", Name: "copy-source-ignored", Severity: diag.SeverityError, Check: ignoredSources},
	{ID: "SBX743", Name: "failure-unseen", Severity: diag.SeverityNote, Category: rule.Style, Check: unseenFailures},
	{ID: "SBX744", Name: "login-log-sparse", Severity: diag.SeverityWarning, Category: rule.Style, Check: sparseLogs,
		About: rule.Configurations | rule.Features},
	{ID: "SBX745", Name: "add-of-files", Severity: diag.SeverityNote, Category: rule.Style, Check: addedFiles},
	{ID: "SBX746", Name: "build-check", Severity: diag.SeverityNote, Category: rule.Style, Check: buildChecks},
	{ID: "SBX747", Name: "literal-home", Severity: diag.SeverityWarning, Check: literalHomes},
	{ID: "SBX748", Name: "step-syntax", Severity: diag.SeverityError, Check: brokenSteps},
	{ID: "SBX749", Name: "program-missing", Severity: diag.SeverityError, Check: programsMissing},
	{ID: "SBX750", Name: "user-taken", Severity: diag.SeverityError, Check: usersTaken},
	{ID: "SBX751", Name: "root-needed", Severity: diag.SeverityError, Check: rootNeeded},
	{ID: "SBX752", Name: "package-refused", Severity: diag.SeverityError, Check: packagesRefused},
	{ID: "SBX753", Name: "copied-file", Severity: diag.SeverityError, Check: copiedFiles},
	{ID: "SBX754", Name: "command-refused", Severity: diag.SeverityError, Check: commandsRefused},
}

// templateRules judge dev container Templates, Features that a repository
// publishes, and what an update left behind.
var templateRules = []rule.Rule{
	{ID: "SBX903", Name: "conflict-marker", Severity: diag.SeverityError, FoundBy: "reading"},
	{ID: "SBX904", Name: "option-name", Severity: diag.SeverityError, Check: unusableOptions, About: rule.Templates},
	{ID: "SBX905", Name: "raw-boolean-default", Severity: diag.SeverityError, Check: rawDefaults, About: rule.Templates},
	{ID: "SBX906", Name: "option-unknown", Severity: diag.SeverityError, Check: undeclaredOptions, About: rule.Templates},
	{ID: "SBX907", Name: "rendered-invalid", Severity: diag.SeverityError, Check: invalidRenderings, About: rule.Templates},
	{ID: "SBX908", Name: "option-breaks-file", Severity: diag.SeverityError, Check: brokenRenderings, About: rule.Templates},
	{ID: "SBX909", Name: "identity", Severity: diag.SeverityWarning, Check: identity, About: rule.Features | rule.Templates},
	{ID: "SBX910", Name: "path-never-applied", Severity: diag.SeverityNote, Check: idlePaths, About: rule.Templates},
	{ID: "SBX911", Name: "install-missing", Severity: diag.SeverityError, Check: installMissing, About: rule.Features},
	{ID: "SBX912", Name: "option-unused", Severity: diag.SeverityNote, Check: unusedOptions, About: rule.Templates},
	{ID: "SBX913", Name: "install-refused", Severity: diag.SeverityError, Check: brokenInstalls, About: rule.Features},
	{ID: "SBX914", Name: "option-default", Severity: diag.SeverityError, Check: strayDefaults, About: rule.Features | rule.Templates},
}
