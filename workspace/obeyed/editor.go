package obeyed

// EditorVariables are the variables by which editors hand sockets of the host
// to the sessions that they start in a container, as VS Code sets them. A program that
// can talk to those can open files, use keys and start programs outside. Dev
// containers of ours set them to null, and validate asks for that.
func EditorVariables() []string {
	return []string{
		"SSH_AUTH_SOCK", "GIT_ASKPASS", "BROWSER",
		"VSCODE_IPC_HOOK_CLI", "VSCODE_GIT_IPC_HANDLE", "VSCODE_GIT_ASKPASS_NODE", "VSCODE_GIT_ASKPASS_MAIN",
		"REMOTE_CONTAINERS_IPC", "REMOTE_CONTAINERS_SOCKETS",
	}
}
