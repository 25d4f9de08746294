package action

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/mountinfo"
	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/workspace"
)

// whereabouts are facts about where a step runs, by which wayOut knows the kind of runner.
type whereabouts struct {
	hooks     bool   // ACTIONS_RUNNER_CONTAINER_HOOKS: the runner has programs of its own make the job's container
	pod       bool   // a pod of Kubernetes
	job       bool   // the job's container, into which runners mount the workspace at /__w
	container bool   // any container
	remote    bool   // DOCKER_HOST, or a docker context, leads to another machine or container
	address   string // DOCKER_HOST
	program   string // an engine's program that is installed; "" = none
	copied    bool   // workspace_mode is copy
}

// lookAround finds them.
func (s Sandboxed) lookAround(in Inputs) whereabouts {
	w := whereabouts{
		hooks:   s.Getenv("ACTIONS_RUNNER_CONTAINER_HOOKS") != "",
		pod:     s.Getenv("KUBERNETES_SERVICE_HOST") != "",
		job:     strings.HasPrefix(s.Getenv("GITHUB_WORKSPACE"), "/__w/"),
		remote:  engine.Elsewhere(s.Getenv),
		address: s.Getenv("DOCKER_HOST"),
		copied:  in.WorkspaceMode == string(workspace.Copy),
	}
	mounts, _ := os.ReadFile("/proc/self/mountinfo") // "" = in no container
	for m := range mountinfo.Parse(string(mounts)) {
		w.container = w.container || m.Point == "/etc/hosts" // as every engine and Kubernetes mount it
	}
	for _, program := range []string{"docker", "podman"} {
		if _, err := hostprogram.Find(program); err == nil && w.program == "" {
			w.program = program
		}
	}
	return w
}

const (
	copyMode = "set workspace_mode: copy, which sends the files to the engine; the agent's changes are in patch_file alone"
	// inPod is how the chart of GitHub's Actions Runner Controller gives runners an engine.
	inPod = "containerMode.type: dind"
)

// wayOut says on which kind of runner an engine failed a step, and what works there;
// "" = the error's own hint is the better one.
func wayOut(err error, w whereabouts) string {
	switch {
	case errors.Is(err, runplan.ErrOwners) && w.copied:
		return "use a Docker that runs as root, or the Podman of this runner's user"
	case errors.Is(err, runplan.ErrOwners):
		return copyMode
	case errors.Is(err, runplan.ErrElsewhere):
		return w.otherFiles()
	case errors.Is(err, engine.ErrUnavailable):
		return w.noAnswer(engine.SilenceOf(err))
	}
	return ""
}

// otherFiles is for an engine that has not the files of the step.
func (w whereabouts) otherFiles() string {
	const mounted = "mount the runner's work folder at the same path in the runner's container and in the engine's"
	switch {
	case w.copied:
		return mounted
	case w.job:
		return "this job is in a container (container:), and the engine has the workspace at another path: " + copyMode +
			"; without container: rw works"
	case w.pod:
		return "the engine is in another container of this pod and has other files: " + copyMode + "; or " + mounted + ", as ARC's " + inPod +
			" does"
	case w.remote:
		return "the engine is in another container (Docker-in-Docker) or on another machine: " + copyMode
	case w.container:
		return "this runner is in a container, and its engine has other files: " + copyMode + "; or " + mounted
	}
	return "the engine has other files than this runner: " + copyMode
}

// noAnswer is for an engine that does not answer.
func (w whereabouts) noAnswer(why engine.Silence) string {
	const socket = "/var/run/docker.sock:/var/run/docker.sock"
	switch {
	case why == engine.Unfit || strings.HasPrefix(w.address, "ssh://"):
		return ""
	case w.hooks || w.pod && w.job:
		return "this is a runner of Kubernetes (ARC's containerMode.type: kubernetes), whose pods have no container engine: give its " +
			"runner set " + inPod + ", or take a hosted Linux runner"
	case why == engine.Closed && w.job:
		return "the user of the job's container may not open the engine's socket: leave --user out of the container's options, or add " +
			"the socket's group there (--group-add)"
	case why == engine.Closed:
		return "this runner's user may not open the engine's socket: add the user to the socket's group (sudo usermod -aG docker USER), " +
			"and start the runner again"
	case w.pod && w.address == "" && why == engine.Missing:
		return "this runner's pod has no container engine: give ARC's runner set " + inPod
	case w.pod:
		return "the engine of this runner's pod does not answer (ARC's " + inPod + "): look at the log of its container dind; " +
			"RUNNER_WAIT_FOR_DOCKER_IN_SECONDS has a runner wait for it"
	case w.remote:
		return "the engine is in another container (Docker-in-Docker) or on another machine, and does not answer: it may need a moment, " +
			"for which a step before waits: timeout 60 sh -c 'until docker info; do sleep 1; done'"
	case w.address != "":
		return fmt.Sprintf("DOCKER_HOST is %s, where no engine answers: start it there, or leave DOCKER_HOST out", w.address)
	case w.job:
		return "this job is in a container (container:) without its runner's engine: add volumes: " + socket + " to it, and " + copyMode
	case w.container && why == engine.Missing:
		return "this runner is in a container without an engine: mount that of its machine (" + socket + "), or have DOCKER_HOST name " +
			"Docker-in-Docker; then " + copyMode
	case why == engine.Silent:
		return "an engine's socket is there, and its daemon does not answer: start it (sudo systemctl restart docker)"
	case w.program == "podman":
		return "Podman is installed, and its service does not run: systemctl --user start podman.socket, as the runner's user"
	case w.program != "":
		return "Docker is installed, and its daemon does not run: sudo systemctl start docker"
	}
	return "this runner has no container engine: install Docker or Podman, or take a hosted Linux runner, such as ubuntu-24.04"
}
