package baseimage_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
)

func TestWhatIsKnown(t *testing.T) {
	for _, c := range []struct {
		image  string
		family baseimage.Family
		known  bool
		lacks  string // with a minus in front: has, or nobody knows
	}{
		{"debian:13", baseimage.Debian, true, "curl git apk -apt-get"},
		{"debian", baseimage.Debian, true, "curl"},
		{"docker.io/library/node:24-slim", baseimage.Debian, true, "curl git -npm"},
		{"node:24", baseimage.Debian, true, "apk jq -curl -git -npm"},
		{"node:24-alpine3.22", baseimage.Alpine, true, "bash apt-get -apk -npm"},
		{"golang:1.24-alpine", baseimage.Alpine, true, "bash -go -git"},
		{"fedora:42", baseimage.RedHat, true, "apt-get -curl"},
		{"mcr.microsoft.com/devcontainers/base:alpine-3.22", baseimage.Alpine, true, "apt-get -git"},
		{"mcr.microsoft.com/devcontainers/go:1", baseimage.Debian, true, "apk -git"},
		{"ubuntu:14.04", baseimage.Debian, false, ""},
		{"debian:jessie", baseimage.Debian, false, ""},
		{"golang:1.24-windowsservercore", "", false, ""},
		{"node@sha256:0dd988931313673ac1f24900de5184b560c9bcc144ce57bdfdaf01110e9f5286", "", false, ""},
		{"example.com/node:24", "", false, ""},
	} {
		got, ok := baseimage.Of(c.image)
		if ok != c.known || ok && got.Family != c.family {
			t.Errorf("%s: %v, %+v", c.image, ok, got)
		}
		for word := range strings.FieldsSeq(c.lacks) {
			if program, has := strings.CutPrefix(word, "-"); got.Lacks(program) == has {
				t.Errorf("%s lacks %s: %v", c.image, program, !has)
			}
		}
	}
}

func TestReleases(t *testing.T) {
	for image, want := range map[string]string{"debian:12.5-slim": "12", "debian:trixie-slim": "13", "ubuntu:24.04": "24.04",
		"ubuntu:noble":     "24.04",
		"node:24-bookworm": "12", "node:24": "", "python:3.13": ""} {
		if got, _ := baseimage.Of(image); got.Release != want {
			t.Errorf("%s is release %q, not %q", image, got.Release, want)
		}
	}
}

// The users of an image, and whether it is certain that it has no others.
func TestUsersOfImages(t *testing.T) {
	for image, want := range map[string]struct{ has, lacks string }{
		"node:24-slim":       {"node root www-data", "ubuntu dev"},
		"debian:12":          {"www-data", "ubuntu node"},
		"ubuntu:24.04":       {"ubuntu root", "vscode"},
		"ubuntu:22.04":       {"root", "ubuntu vscode"},
		"alpine:3.22":        {"guest", "node"},
		"scratch":            {"root", "daemon"},
		"eclipse-temurin:21": {"ubuntu root", "?vscode"},
		"fedora:43":          {"root", "?vscode"},
	} {
		got, ok := baseimage.Of(image)
		if !ok || !got.Official() {
			t.Errorf("%s is not known", image)
		}
		for user := range strings.FieldsSeq(want.has) {
			if has, _ := got.HasUser(user); !has {
				t.Errorf("%s has no %s", image, user)
			}
		}
		for word := range strings.FieldsSeq(want.lacks) {
			user, unsure := strings.CutPrefix(word, "?")
			if has, sure := got.HasUser(user); has || sure == unsure {
				t.Errorf("%s: %s: %v, %v", image, user, has, sure)
			}
		}
	}
}

// What the tables say an image lacks is not in it, and its user is. The images are those that other tests use.
func TestTheImagesAgree(t *testing.T) {
	asked := 0
	for _, name := range []string{"debian:bookworm-slim", "node:22-bookworm-slim"} {
		if exec.Command("docker", "image", "inspect", name).Run() != nil {
			continue
		}
		asked++
		image, ok := baseimage.Of(name)
		if !ok {
			t.Fatal(name)
		}
		script := "for d in /bin /sbin /usr/bin /usr/sbin /usr/local/bin /usr/local/sbin; do ls $d; done; id " + image.User
		out, err := exec.Command("docker", "run", "--rm", "--network=none", name, "sh", "-c", script).Output()
		if err != nil {
			t.Fatal(name, err)
		}
		for line := range strings.Lines(string(out)) {
			if program := strings.TrimSpace(line); image.Lacks(program) {
				t.Errorf("%s has %s", name, program)
			}
		}
		if !strings.Contains(string(out), "uid="+image.Number) {
			t.Errorf("%s has no user %s with the number %s", name, image.User, image.Number)
		}
	}
	if asked == 0 {
		t.Skip("needs an engine with debian:bookworm-slim or node:22-bookworm-slim")
	}
}
