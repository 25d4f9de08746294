package contract

import (
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
)

// Rules hold the configuration of a sandbox to its promises.
var Rules = []rule.Rule{
	{ID: "SBX801", Name: "firewall-capability", Severity: diag.SeverityError, Check: capabilityMissing, RestsOn: []string{"capAdd"},
		Corrects: []string{"capAdd"}},
	{ID: "SBX802", Name: "entrypoint-replaced", Severity: diag.SeverityError, Check: entrypointReplaced, RestsOn: []string{"overrideCommand"},
		Corrects: []string{"overrideCommand"}},
	{ID: "SBX803", Name: "firewall-in-hook", Severity: diag.SeverityError, Check: firewallInHook},
	{ID: "SBX804", Name: "attached-before-firewall", Severity: diag.SeverityWarning, Check: attachedEarly, Corrects: []string{"waitFor"}},
	{ID: "SBX805", Name: "agent-undoes-firewall", Severity: diag.SeverityError, Check: undone,
		RestsOn: []string{"remoteUser", "containerUser", "securityOpt"}, Corrects: []string{"securityOpt", "capAdd"}},
	{ID: "SBX806", Name: "configuration-writable", Severity: diag.SeverityError, Check: configWritable, RestsOn: []string{"mounts"},
		Corrects: []string{"mounts"}},
	{ID: "SBX807", Name: "git-writable", Severity: diag.SeverityError, Check: gitWritable, RestsOn: []string{"mounts"},
		Corrects: []string{"mounts"}},
	{ID: "SBX808", Name: "firewall-leaks", Severity: diag.SeverityWarning, Check: firewallScripts},
	{ID: "SBX810", Name: "shared-credentials", Severity: diag.SeverityWarning, Check: sharedCredentials},
	{ID: "SBX811", Name: "unasked-and-uncontained", Severity: diag.SeverityError, Check: uncontained},
	{ID: "SBX812", Name: "git-file-writable", Severity: diag.SeverityError, Check: gitFileWritable, RestsOn: []string{"mounts"}},
	{ID: "SBX813", Name: "published-port-closed", Severity: diag.SeverityWarning, Check: closedPorts},
	{ID: "SBX814", Name: "policy-refuses-command", Severity: diag.SeverityWarning, Check: refusedCommands},
	{ID: "SBX816", Name: "host-files-writable", Severity: diag.SeverityWarning, Check: hostFilesWritable, RestsOn: []string{"mounts"}},
	{ID: "SBX817", Name: "capability-without-firewall", Severity: diag.SeverityWarning, Check: idleCapability},
	{ID: "SBX818", Name: "network-parameter", Severity: diag.SeverityWarning, Check: networkParameters},
	{ID: "SBX819", Name: "firewall-covered", Severity: diag.SeverityError, Check: firewallCovered},
	{ID: "SBX820", Name: "gate-skipped", Severity: diag.SeverityWarning, Check: gateSkipped, Corrects: []string{"waitFor"}},
	{ID: "SBX821", Name: "start-without-root", Severity: diag.SeverityError, Check: firstProcess},
	{ID: "SBX822", Name: "firewall-program", Severity: diag.SeverityWarning, Check: firewallProgram},
	{ID: "SBX823", Name: "settings-missing", Severity: diag.SeverityError, Check: settingsMissing},
	{ID: "SBX824", Name: "setuid-refused", Severity: diag.SeverityError, Check: setuidRefused},
	{ID: "SBX825", Name: "settings-without-effect", Severity: diag.SeverityNote, Check: idleSettings},
}
