package lint_test

import (
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
)

// valuesTaken are options whose values the engine takes, in all the forms that people write.
var valuesTaken = []string{"--memory=2g", "--memory=2gb", "--memory=512m", "--memory=1.5g", "--memory=2GiB", "--memory=536870912",
	"--memory-swap=-1", "--shm-size=2 gb", "--cpus=.5", "--cpus=2", "--ulimit=nofile=65536:65536", "--ulimit=memlock=-1:-1",
	"--add-host=x:host-gateway", "--add-host=x:::1", "--restart=no", "--restart=on-failure:3", "--volume=name:/x:ro",
	"--volume=/opt/a:/b:ro,z", "--volume=/x", "-v/opt/a:/b", "-p3000", "--publish=0.0.0.0:3000:3000/udp", "--publish=127.0.0.1::80",
	"--publish=3000-3001:3000-3001", "--publish=published=3000,target=80", "--publish=[::1]:80:80", "--pids-limit=-1", "--stop-timeout=5",
	"--cap-add=ALL", "--cap-add=cap_sys_ptrace", "--security-opt=label:disable", "--security-opt=no-new-privileges",
	"--security-opt=seccomp=unconfined", "--security-opt=apparmor=unconfined", "--security-opt=systempaths=unconfined"}

// valuesRefused are some that it does not take.
var valuesRefused = []string{"--memory=4gg", "--shm-size=two", "--cpus=two", "--ulimit=nofile", "--add-host=x", "--restart=allways",
	"--volume=~/x:/x", "--volume=a/b:/x", "--volume=/opt/a:/b:readonly", "--volume=/opt/a:b", "--publish=3000:3000:tcp", "--publish=3000/tpc",
	"--publish=127.0.0.1:3000", "--pids-limit=many", "--cap-add=SYS_PTRCE", "--security-opt=secomp=unconfined"}

// Values of options are refused as the engine refuses them: each was given to docker create.
func TestValuesAreThoseOfTheEngine(t *testing.T) {
	t.Parallel()
	for want, list := range map[bool][]string{false: valuesTaken, true: valuesRefused} {
		for _, option := range list {
			refused := false
			for _, f := range judge(t, devcontainer.Memory{".devcontainer/devcontainer.json": `{"image": "a:1", "runArgs": ["` + option + `"]}`}) {
				refused = refused || f.Rule == "SBX321"
			}
			if refused != want {
				t.Errorf("%s: refused is %v", option, refused)
			}
		}
	}
}
