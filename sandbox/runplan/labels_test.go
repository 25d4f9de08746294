package runplan

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/test/workspacetest"
	"github.com/org/claude-sandbox/settings"
)

// Attack: a mount makes the engine change the labels of a home or of the system, which
// then do not work any more.
func TestLabelsThatMustStay(t *testing.T) {
	for source, fine := range map[string]bool{
		"/": false, "/home": false, "/home/me": false, "/home/other": false, "/root": false, "/var/home/me": false, "/data/homes/me": false,
		"/data/homes": false, "/usr": false, "/usr/share/dict": false, "/etc/ssl": false, "/var": false,
		"/var/lib/data": false, "/var/tmp": false,
		"/run/media": false, "/srv/a:b": false,
		"/home/me/project": true, "/home/other/src": true, "/root/project": true, "/data/homes/me/x": true, "/srv/project": true,
		"/tmp/project": true, "/var/tmp/x": true, "/var/home/me/x": true, "/run/media/me/disk": true, "/usrlocal": true,
	} {
		home := "/home/me"
		if strings.HasPrefix(source, "/data") {
			home = "/data/homes/me"
		}
		err := refuseLabel(source, home)
		if (err == nil) != fine || err != nil && (!errors.Is(err, ErrConfig) || diag.HintOf(err) == "") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// With SELinux the outermost mounts get a label, and nothing does without it.
func TestLabelsOfMounts(t *testing.T) {
	w, more := workspacetest.Folder(t, ".git/HEAD", ".git/objects/", ".git/refs/", ".vscode/tasks.json"), t.TempDir()
	for _, security := range [][]string{{"seccomp"}, {"seccomp", "selinux"}} {
		o := Options{ID: "test", Containers: Containers{Image: "image:1"}}
		o.User.Mounts = []settings.Mount{{Host: more, Container: "/mnt/more", ReadOnly: true}}
		p := plan(t, o, w)
		d := engine.Description{Security: security}
		if err := errors.Join(p.fitLabels(d), p.fitLabels(d)); err != nil {
			t.Fatal(err)
		}
		mounts := slices.Clone(p.Agent.Mounts)
		p.Relabel(mounts)
		var got []string
		for _, m := range mounts {
			if m.Relabel {
				got = append(got, m.Target)
			}
		}
		var want []string
		if slices.Contains(security, "selinux") {
			want = []string{WorkspaceTarget, "/mnt/more"}
		}
		if !slices.Equal(got, want) || strings.Count(strings.Join(p.Notes, "\n"), "SELinux") != min(len(want), 1) {
			t.Errorf("%v: labels for %v, want %v; said %q", security, got, want, p.Notes)
		}
	}
	o := Options{ID: "test", Containers: Containers{Image: "image:1"}}
	o.User.Mounts = []settings.Mount{{Host: "/usr/share", Container: "/mnt/share", ReadOnly: true}}
	if err := plan(t, o, w).fitLabels(engine.Description{Security: []string{"selinux"}}); !errors.Is(err, ErrConfig) {
		t.Errorf("a folder of the system: %v", err)
	}
}
