package devcontainer

import (
	"strings"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/release"
)

// contractRules hold the configuration of a sandbox to its promises.
var contractRules = []Rule{
	{ID: "SBX801", Name: "firewall-capability", Severity: diag.SeverityError, Title: "the firewall lacks NET_ADMIN",
		Reason: "sbx-init cannot set a packet filter without it, so it ends before the agent starts and the container never comes up.",
		Bad:    sandboxWith(`"capAdd": ["NET_ADMIN"],`, ``),
		Good:   withSettings("{}"),
		Fix:    "capAdd gets NET_ADMIN",
		check:  (*pass).contract},
	{ID: "SBX802", Name: "entrypoint-replaced", Severity: diag.SeverityError, Title: "the firewall in the image's ENTRYPOINT never runs",
		Reason: "The reference CLI replaces the ENTRYPOINT by a shell unless overrideCommand is false: the container starts without its firewall and nothing says so.",
		Bad:    sandboxWith(`"overrideCommand": false,`, ``),
		Good:   withSettings("{}"),
		Fix:    "overrideCommand becomes false"},
	{ID: "SBX803", Name: "firewall-in-hook", Severity: diag.SeverityError, Title: "the firewall starts in a hook, which fails open",
		Reason: "When a lifecycle command fails the container goes on, and the next start reports success. Tools also attach before the command has run.",
		Bad:    sandboxWith(`"overrideCommand": false`, `"waitFor": "postStartCommand", "postStartCommand": "/usr/local/bin/init-firewall.sh"`),
		Good:   withSettings("{}")},
	{ID: "SBX804", Name: "attached-before-firewall", Severity: diag.SeverityWarning, Title: "tools attach before the firewall is up",
		Reason: "Without waitFor they wait for updateContentCommand only, and what they start, an agent for example, runs without the firewall.",
		Bad:    sandboxWith(`"overrideCommand": false,`, "// sbx-ignore SBX803: the example is about waiting\n  \"postStartCommand\": \"init-firewall.sh\","),
		Good:   withSettings("{}"),
		Fix:    "waitFor names the hook"},
	{ID: "SBX805", Name: "agent-undoes-firewall", Severity: diag.SeverityError, Title: "the agent can undo the firewall",
		Reason: "A session that an editor opens is a child of the engine and has the container's rights: as root, or through a setuid program, it changes the packet filter. It is a warning where the Dockerfile lets sudo run single commands only.",
		Bad:    sandboxWith(`"securityOpt": ["no-new-privileges"],`, ``),
		Good:   withSettings("{}"),
		Fix:    "securityOpt gets no-new-privileges, where sessions are not root and nothing that starts in the container needs sudo or another setuid program"},
	{ID: "SBX806", Name: "configuration-writable", Severity: diag.SeverityError, Title: ".devcontainer can be changed from inside",
		Reason: "The next rebuild runs on the host what the agent wrote there: mounts, options of the engine, initializeCommand.",
		Bad:    sandboxWith("\n    \"type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly\"\n  ", ""),
		Good:   withSettings("{}"),
		Fix:    "mounts gets the folder, read-only, unless Compose makes the container or something is mounted there"},
	{ID: "SBX807", Name: "git-writable", Severity: diag.SeverityError, Title: "git hooks or configuration can be changed from inside",
		Reason: "git on the host runs hooks and the commands in its configuration, such as a pager or a file-system monitor, the next time somebody uses it there.",
		Bad:    sandboxWith(``, ``) + "-- .git/HEAD --\n-- .git/config --\n-- .git/hooks/README --\n",
		Good:   withSettings("{}"),
		Fix:    "mounts gets .git and, read-only, its hooks and configuration, where this clone has them; what only some clones have (SBX812, SBX816) would keep the others from starting"},
	{ID: "SBX808", Name: "firewall-leaks", Severity: diag.SeverityWarning, Title: "the firewall's script leaves a way out",
		Reason: "Rules of iptables hold for IPv4 only; DNS and SSH to any server carry data to any server; and until the default is DROP everything may leave.",
		Bad:    firewallScript("iptables -P OUTPUT DROP\niptables -A OUTPUT -d 192.0.2.1 -j ACCEPT\n"),
		Good:   withSettings("{}")},
	{ID: "SBX810", Name: "shared-credentials", Severity: diag.SeverityWarning, Title: "projects share one volume of credentials",
		Reason: "A volume with a fixed name is the same in every project: an agent in one reads and changes the login and the memory of all others.",
		Bad:    withImage(`"mounts": ["type=volume,source=claude-config,target=/home/agent/.claude"]`),
		Good:   withImage(`"mounts": ["type=volume,source=claude-config-${devcontainerId},target=/home/agent/.claude"]`),
		check:  (*pass).sharedCredentials},
	{ID: "SBX811", Name: "unasked-and-uncontained", Severity: diag.SeverityError, Title: "an agent that never asks runs without a sandbox",
		Reason: "Without permission prompts the container is the only border, and nothing here keeps the network or the host's files away.",
		Bad:    withImage(`"postAttachCommand": "claude --dangerously-skip-permissions"`),
		Good:   withImage(`"postAttachCommand": "claude"`),
		check:  (*pass).uncontained},
	{ID: "SBX812", Name: "git-file-writable", Severity: diag.SeverityError, Title: "the .git file can be changed from inside",
		Reason: "In a linked worktree or a submodule .git is a file that names the repository. Whoever writes it chooses whose configuration git on the host obeys.",
		Bad:    withSettings("{}") + "-- .git --\ngitdir: ../main/.git/worktrees/x\n",
		Good:   withSettings("{}")},
	{ID: "SBX813", Name: "published-port-closed", Severity: diag.SeverityWarning, Title: "a published port that the firewall keeps closed",
		Reason: "The firewall lets nobody in from outside but on the ports of network.inbound.",
		Bad:    sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"appPort\": [8080],"),
		Good:   strings.Replace(sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"appPort\": [8080],"), "{}", `{"network": {"inbound": [8080]}}`, 1)},
	{ID: "SBX814", Name: "policy-refuses-command", Severity: diag.SeverityWarning, Title: "a lifecycle command needs what the policy refuses",
		Reason: "Lifecycle commands run behind the firewall, so this one fails.",
		Bad:    sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"postCreateCommand\": \"npm ci\","),
		Good:   strings.Replace(sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"postCreateCommand\": \"npm ci\","), "{}", `{"network": {"presets": ["npm"]}}`, 1)},
	{ID: "SBX816", Name: "host-files-writable", Severity: diag.SeverityWarning, Title: "files that act on the host can be changed from inside",
		Reason: "An editor's tasks, an agent's settings and hook folders are run or obeyed on the host later.",
		Bad:    withSettings("{}") + "-- .vscode/tasks.json --\n{}\n",
		Good:   withSettings("{}")},
	{ID: "SBX817", Name: "capability-without-firewall", Severity: diag.SeverityWarning, Title: "NET_ADMIN for an agent's container without a firewall",
		Reason: "The capability is there to raise a firewall. Without one it only lets the agent listen to and redirect traffic.",
		Bad:    withImage(`"capAdd": ["NET_ADMIN"]`, `"postCreateCommand": "npm install -g @anthropic-ai/claude-code"`),
		Good:   withImage(`"postCreateCommand": "npm install -g @anthropic-ai/claude-code"`),
		check:  (*pass).idleCapability},
	{ID: "SBX818", Name: "network-parameter", Severity: diag.SeverityWarning, Title: "kernel parameter that changes the network below the firewall",
		Reason: "A firewall judges the packets that programs of its container send. Forwarding, routes by the sender, foreign addresses and switches of connection tracking let packets go where its rules do not expect them.",
		Bad:    sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"runArgs\": [\"--sysctl=net.ipv4.ip_forward=1\"],"),
		Good:   sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"runArgs\": [\"--sysctl=net.core.somaxconn=1024\"],")},
	{ID: "SBX819", Name: "firewall-covered", Severity: diag.SeverityError, Title: "a mount lies over a part of the firewall",
		Reason: "The program, its policy, the file that says the firewall is up and the gate in /etc/profile.d come with the image. What is mounted over them takes their place, and stays over starts.",
		Bad:    sandboxWith(`"mounts": [`, "\"mounts\": [\n    \"type=volume,source=state,target=/run/sbx\","),
		Good:   sandboxWith(`"mounts": [`, "\"mounts\": [\n    \"type=volume,source=state,target=/var/lib/state\",")},
	{ID: "SBX820", Name: "gate-skipped", Severity: diag.SeverityWarning, Title: "tools do not wait for the firewall",
		Reason: "Login shells wait until the firewall of this start is up, and tools start one to learn the user's environment before they run anything. With userEnvProbe none or interactiveShell there is none: lifecycle commands still wait, by the Feature's own, but not what an editor starts besides.",
		Bad:    sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"userEnvProbe\": \"none\","),
		Good:   sandboxWith(`"overrideCommand": false,`, "\"overrideCommand\": false,\n  \"userEnvProbe\": \"loginShell\","),
		Fix:    "none becomes loginShell, interactiveShell becomes loginInteractiveShell"},
	{ID: "SBX821", Name: "start-without-root", Severity: diag.SeverityError, Title: "the firewall Feature needs a first process of root's",
		Reason: "It raises the firewall in the container's first process, which needs root for that, and ends the container otherwise. The agent is another user: remoteUser.",
		Bad:    withFeature(`"containerUser": "dev"`),
		Good:   withFeature(`"remoteUser": "dev"`)},
	{ID: "SBX822", Name: "firewall-program", Severity: diag.SeverityWarning, Title: "the Dockerfile may start something else under the firewall's name",
		Reason: "The promises hold when the program at the ENTRYPOINT is the published sbx-init. Another image in COPY --from, a file that is copied or written over it later, a line that is text of a here-document: each lets the container start as if it had a firewall. A mirror of the init image is excused by an sbx-ignore comment, or by the organisation's policy when registries.allow names its repository.",
		Bad:    withFirewallBuild("docker.io/somebody/claude-sandbox-init:v1", "{}"),
		Good:   withFirewallBuild(release.InitRepo()+":v1", "{}")},
	{ID: "SBX823", Name: "settings-missing", Severity: diag.SeverityError, Title: "the Dockerfile copies a sandbox.jsonc that is not there",
		Reason: "The image cannot be built without it, and what the firewall should let out is not written down anywhere else.",
		Bad:    withFirewallBuild(release.InitRepo()+":v1", ""),
		Good:   withFirewallBuild(release.InitRepo()+":v1", "{}")},
	{ID: "SBX824", Name: "setuid-refused", Severity: diag.SeverityError, Title: "a command of the start needs sudo, which no-new-privileges refuses",
		Reason: "Under no-new-privileges sudo, su and every other setuid program fail. The reference CLI then says that the lifecycle command failed, and the container stays up; the next start reports success. When the command raises a firewall, the container runs open.",
		Bad:    withImage(`"remoteUser": "dev"`, `"securityOpt": ["no-new-privileges"]`, `"postStartCommand": "sudo service ssh start"`),
		Good:   withImage(`"remoteUser": "dev"`, `"postStartCommand": "sudo service ssh start"`),
		check:  (*pass).setuidRefused},
	{ID: "SBX825", Name: "settings-without-effect", Severity: diag.SeverityWarning, Title: "a key of sandbox.jsonc that nothing reads here",
		Reason: "In a dev container sbx-init reads network and nothing else: limits, mounts or an environment that the file sets do not hold there. That is a note where sbx-devc run and the Action read the key, because one file may serve both, and a warning where they refuse it.",
		Bad:    withSettings(`{"secrets": ["NPM_TOKEN"]}`),
		Good:   withSettings(`{"network": {"presets": ["anthropic"]}}`),
		check:  (*pass).idleSettings},
}

// withFirewallBuild is a sandbox that builds its image with sbx-init from an
// image; without settings when they are "".
func withFirewallBuild(init, settings string) string {
	files := []string{".devcontainer/Dockerfile", "FROM debian:13\nRUN useradd --create-home agent\nCOPY --from=" + init + " /sbx-init /usr/local/sbin/sbx-init\n" +
		"COPY sandbox.jsonc /etc/sbx/sandbox.jsonc\n" + `ENTRYPOINT ["/usr/local/sbin/sbx-init", "run", "--policy", "/etc/sbx/sandbox.jsonc", "--user", "agent", "--"]`}
	if settings != "" {
		files = append(files, ".devcontainer/sandbox.jsonc", settings)
	}
	return withFiles(strings.Replace(soundSandbox, `"image": "ghcr.io/org/claude-sandbox:1.0.0"`, `"build": {"dockerfile": "Dockerfile"}`, 1), files...)
}

// withFeature is a dev container with the firewall Feature and one more line.
func withFeature(line string) string {
	return withImage(line, `"features": {"ghcr.io/org/claude-sandbox/features/firewall:0.1.0": {}}`, `"remoteEnv": `+closedSockets,
		`"mounts": ["type=bind,source=${localWorkspaceFolder}/.devcontainer,target=${containerWorkspaceFolder}/.devcontainer,readonly"]`)
}

// firewallScript is a sandbox with a firewall's script of its own.
func firewallScript(text string) string {
	return sandboxWith(`"overrideCommand": false,`, "\"waitFor\": \"postStartCommand\",\n  // sbx-ignore SBX803: the example is about the script\n  \"postStartCommand\": \"sh .devcontainer/init-firewall.sh\",") +
		"-- .devcontainer/init-firewall.sh --\n" + text
}
