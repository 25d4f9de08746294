package action

import (
	"fmt"
	"io/fs"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// unanswered is the real error of an engine that does not answer in one of the ways.
func unanswered(t *testing.T, why engine.Silence) error {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "engine")
	if why == engine.Silent {
		listener, err := net.Listen("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		listener.Close()
	}
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	if why == engine.Unfit {
		t.Setenv("DOCKER_HOST", "")
		t.Setenv("DOCKER_CONTEXT", "of-another-day")
	}
	_, err := engine.Connect(t.Context())
	if why == engine.Closed { // no test of root's meets it
		err = fmt.Errorf("%w: permission denied while trying to connect to the docker API at unix://%s", engine.ErrUnavailable, socket)
	}
	if got := engine.SilenceOf(err); got != why {
		t.Fatalf("%v is %s, want %s", err, got, why)
	}
	return err
}

// Each kind of runner whose engine does not do is named, with what works there.
func TestKindsOfRunners(t *testing.T) {
	const copies, dind = "workspace_mode: copy", "containerMode.type: dind"
	missing, closed, silent, unfit := unanswered(t, engine.Missing), unanswered(t, engine.Closed), unanswered(t,
		engine.Silent), unanswered(t, engine.Unfit)
	split, owners := runplan.Elsewhere("x"), fmt.Errorf("%w: x", runplan.ErrOwners)
	const arcSocket = "unix:///var/run/docker.sock" // as the chart sets it
	for _, c := range []struct {
		name string
		err  error
		at   whereabouts
		want []string // of the hint; none = the error's own stays
		not  string
	}{
		{"a job in a container", split, whereabouts{job: true, container: true},
			[]string{"(container:)", copies, "without container: rw works"}, "ARC"},
		{"a job in a container without the socket", missing, whereabouts{job: true, container: true},
			[]string{"(container:)", "volumes: /var/run/docker.sock", copies}, "ARC"},
		{"a job in a container of another user", closed, whereabouts{job: true, container: true}, []string{"--user", "--group-add"}, "usermod"},
		{"Docker-in-Docker", split, whereabouts{remote: true, address: "tcp://docker:2375"}, []string{"Docker-in-Docker", copies}, "rw works"},
		{"Docker-in-Docker that starts", silent, whereabouts{remote: true, address: "tcp://docker:2375"},
			[]string{"Docker-in-Docker", "until docker info"}, copies},
		{"a job in a container, Docker-in-Docker", split, whereabouts{job: true, container: true, remote: true},
			[]string{"(container:)", copies}, ""},
		{"ARC, Kubernetes mode, in the runner's pod", missing, whereabouts{hooks: true, pod: true, container: true},
			[]string{"kubernetes", dind}, copies},
		{"ARC, Kubernetes mode, in the job's pod", missing, whereabouts{pod: true, job: true, container: true},
			[]string{"kubernetes", dind}, "volumes:"},
		{"ARC, its default mode", missing, whereabouts{pod: true, container: true}, []string{"no container engine", dind}, "log"},
		{"ARC, dind, not up", missing, whereabouts{pod: true, container: true, address: arcSocket},
			[]string{dind, "log of its container dind", "RUNNER_WAIT_FOR_DOCKER_IN_SECONDS"}, copies},
		{"ARC, dind, dead", silent, whereabouts{pod: true, container: true, address: arcSocket},
			[]string{dind, "log of its container dind"}, copies},
		{"ARC, dind, with a work folder of its own", split, whereabouts{pod: true, container: true, address: arcSocket},
			[]string{"of this pod", copies, dind}, ""},
		{"a runner in a container", split, whereabouts{container: true}, []string{"this runner is in a container", copies, "same path"}, "ARC"},
		{"a runner in a container, without an engine", missing, whereabouts{container: true},
			[]string{"this runner is in a container", "DOCKER_HOST", copies}, "ARC"},
		{"an engine with other files", split, whereabouts{}, []string{"other files than this runner", copies}, "container:"},
		{"no engine", missing, whereabouts{}, []string{"install Docker or Podman", "ubuntu-24.04"}, "systemctl"},
		{"Docker does not run", missing, whereabouts{program: "docker"},
			[]string{"Docker is installed", "systemctl start docker"}, "install Docker"},
		{"Podman does not run", missing, whereabouts{program: "podman"}, []string{"podman.socket"}, "docker"},
		{"a daemon that does not answer", silent, whereabouts{program: "docker"},
			[]string{"does not answer", "systemctl restart docker"}, "install"},
		{"another user's socket", closed, whereabouts{program: "docker"}, []string{"usermod -aG docker"}, "install"},
		{"DOCKER_HOST of nobody", missing, whereabouts{address: "unix:///nowhere"}, []string{"unix:///nowhere", "leave DOCKER_HOST out"}, ""},
		{"by ssh", silent, whereabouts{remote: true, address: "ssh://far"}, nil, ""},
		{"a docker context that is gone", unfit, whereabouts{program: "docker"}, nil, ""},
		{"a Docker without root", owners, whereabouts{}, []string{copies}, ""},
		{"a Docker without root, and a user that it does not have", owners, whereabouts{copied: true}, []string{"runs as root"}, copies},
		{"copy, and the engine does not say that it has other files", split, whereabouts{copied: true, container: true},
			[]string{"same path"}, copies},
		{"another failure", fs.ErrPermission, whereabouts{job: true, pod: true, hooks: true}, nil, ""},
	} {
		hint := wayOut(c.err, c.at)
		if (len(c.want) == 0) != (hint == "") {
			t.Errorf("%s: %q", c.name, hint)
		}
		for _, want := range c.want {
			if !strings.Contains(hint, want) {
				t.Errorf("%s: %q lacks %q", c.name, hint, want)
			}
		}
		if c.not != "" && strings.Contains(hint, c.not) {
			t.Errorf("%s: %q has %q", c.name, hint, c.not)
		}
	}
}
