package effective_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// pretendCompose makes a docker-compose that reads files as the real one, and
// keeps what it is asked to start instead of starting it.
func pretendCompose(t *testing.T) (docker, compose string) {
	t.Helper()
	docker = pretend(t)
	dir := filepath.Dir(docker)
	compose = filepath.Join(dir, "docker-compose")
	script := `#!/bin/sh
case "$*" in
  *version*) echo 1.29.2 ;;
  *" config") [ -s "` + dir + `/config" ] || ` + testenv.Program(t, "docker-compose") + ` "$@" >"` + dir +
		`/config" || exit 1; cat "` + dir + `/config" ;;
  *" up "*) printf '%s\0' "$@" >"` + dir + `/up"; for a; do case $a in *containerFeatures*) cp "$a" "` + dir +
		`/override" ;; esac; done; exit 1 ;;
  *" build"*) ;;
  *) exit 1 ;;
esac
`
	if err := os.WriteFile(compose, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return docker, compose
}

var composeProjects = map[string]map[string]string{
	"files over each other": {
		".devcontainer/devcontainer.json": `{"name": "x", "dockerComposeFile": ["../compose.yaml", "extra.yaml"], "service": "app", ` +
			`"runServices": ["db"], "workspaceFolder": "/w/${localWorkspaceFolderBasename}",
			"capAdd": ["SYS_NICE"], "securityOpt": ["label=disable"], "init": true, "containerUser": "dev", "containerEnv": {"Q": "it's $5", "N": ` +
			`"a\nb"}, "updateRemoteUserUID": false,
			"mounts": ["type=volume,src=v-${devcontainerId},dst=/v,readonly", {"type": "bind", "source": "${localWorkspaceFolder}/x", "target": ` +
			`"/x"}, "type=tmpfs,target=/t"]}`,
		".env":   "TAG=9\nEMPTY=\n",
		"a.env":  "# first\nFROM_FILE=file\nBOTH=file\nexport QUOTED=\"two words\"\n",
		"b.env":  "FROM_FILE=second\nSBX_SET\n",
		"x/.dir": "",
		"compose.yaml": `version: "3.8"
x-common: &common
  labels: {one: "1"}
services:
  app:
    <<: *common
    image: "pretended:${TAG}${NOTHING}"
    user: "${EMPTY:-me}"
    env_file: [a.env, b.env]
    environment: [BOTH=service, SBX_SET, NOT_SET_ANYWHERE, "PLUS=${TAG:-minus}${EMPTY-d}"]
    volumes: ["./data:/data", "named:/named:ro", "/abs:/abs:ro"]
    ports: ["127.0.0.1:3000:3000", "9000"]
    cap_add: [NET_RAW, SYS_PTRACE]
    privileged: true
    entrypoint: "/start 'two words' --"
    command: ["a", "$$HOME", "c"]
    network_mode: "bridge"
    extends: {file: sub/base.yaml, service: base}
  db: {image: "postgres:17"}
volumes: {named: {}}
`,
		".devcontainer/extra.yaml": `version: "3.8"
services:
  app:
    privileged: false
    environment: {ADDED: "yes", PLUS: "changed", TRUTH: "true", NUMBER: 5}
    volumes: ["./other:/data:ro"]
    ports: ["4000:4000"]
    cap_add: [NET_RAW, SYS_NICE]
    security_opt: ["no-new-privileges:true"]
    command: "run \"me now\" $$X"
    init: true
    devices: ["/dev/null:/dev/x"]
`,
		"sub/base.yaml": `version: "3.8"
services:
  base:
    extends: deeper
    pid: host
    volumes: ["./below:/below", "../up:/up"]
    working_dir: /w
    extra_hosts: ["one:192.0.2.1"]
  deeper:
    cap_drop: [ALL]
    tmpfs: /run
    hostname: "h-${TAG}"
`},
	"built": {
		".devcontainer/devcontainer.json": `{"dockerComposeFile": "docker-compose.yml", "service": "app", "workspaceFolder": "/w", ` +
			`"updateRemoteUserUID": false, "remoteEnv": {"A": null}, "overrideCommand": true, "privileged": true}`,
		".devcontainer/docker-compose.yml": "services:\n  app:\n    build: {context: .., dockerfile: docker/Dockerfile, target: one, args: {V: " +
			"'1'}}\n    volumes: ['..:/w:cached']\n    command: sleep infinity\n    profiles: []\n",
		"docker/Dockerfile": "ARG V=2\nFROM pretended:$V AS one\nUSER someone\nFROM scratch\n"},
	"nothing of its own": {
		".devcontainer/devcontainer.json": `{"dockerComposeFile": ["c.yml"], "service": "a-b", "workspaceFolder": "/", ` +
			`"updateRemoteUserUID": false, "overrideCommand": false, "features": {"./f": {}}}`,
		".devcontainer/f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0", "name": "F", "entrypoint": "/f.sh", "capAdd": ` +
			`["NET_RAW"], "mounts": [{"type": "volume", "source": "fv", "target": "/fv"}]}`,
		".devcontainer/f/install.sh": "",
		".devcontainer/c.yml":        "version: '2.4'\nservices:\n  a-b: {image: 'pretended:1'}\n"},
}

// What Compose would be asked to start is what the reference CLI asks it, word
// by word, the file that it writes among it; the service is what docker-compose
// makes of the files; and the merged configuration is the CLI's.
func TestComposeEqualsTheReferenceCLI(t *testing.T) {
	testenv.Program(t, "devcontainer")
	testenv.Program(t, "docker-compose")
	for name, files := range composeProjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docker, compose := pretendCompose(t)
			dir := write(t, files)
			config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
			got, err := compute(t, dir, config)
			if err != nil || got.Compose == nil || len(got.Unknown) > 0 {
				t.Fatalf("%+v %v", got, err)
			}
			run := func(args ...string) []byte {
				cmd := testenv.Devcontainer(t, append(args, "--workspace-folder", dir, "--docker-path", docker, "--docker-compose-path", compose)...)
				cmd.Env = append(cmd.Env, "SBX_SET=value of the host", "HOME=/home/x")
				out, _ := cmd.Output()
				return out
			}
			out := run("up")
			made := filepath.Dir(docker)
			up, err := os.ReadFile(filepath.Join(made, "up"))
			if err != nil {
				t.Fatalf("the reference CLI started nothing: %s", out)
			}
			words := strings.Split(strings.TrimSuffix(string(up), "\x00"), "\x00")
			for i := range words {
				switch {
				case strings.Contains(words[i], "containerFeatures"):
					words[i] = effective.OverrideName
				case strings.Contains(words[i], "devcontainer.build"):
					words[i] = effective.BuildName
				}
			}
			if want := append([]string{"docker", "compose"}, words...); !slices.Equal(got.Compose.Up, want) {
				t.Errorf("ours      %q\nreference %q", got.Compose.Up, want)
			}
			override, err := os.ReadFile(filepath.Join(made, "override"))
			if err != nil {
				t.Fatal(err)
			}
			var kept []string
			for line := range strings.Lines(string(override)) {
				if !strings.HasPrefix(line, "      - 'devcontainer.metadata=") {
					kept = append(kept, line)
				}
			}
			if want := strings.Join(kept, ""); got.Compose.Override != want {
				t.Errorf("override: ours\n%s\nreference\n%s", got.Compose.Override, want)
			}
			compareService(t, dir, filepath.Join(made, "config"), got.Compose)

			var answer struct {
				MergedConfiguration map[string]any
				Workspace           map[string]any
			}
			if err := json.Unmarshal(run("read-configuration", "--include-merged-configuration"), &answer); err != nil {
				t.Fatal(err)
			}
			delete(answer.MergedConfiguration, "configFilePath")
			if ours := plain(t, got.Configuration); !reflect.DeepEqual(ours, any(answer.MergedConfiguration)) {
				t.Errorf("merged: ours\n%v\nreference\n%v", ours, answer.MergedConfiguration)
			}
			if got.Folder != answer.Workspace["workspaceFolder"] {
				t.Errorf("folder %q, reference %q", got.Folder, answer.Workspace["workspaceFolder"])
			}
		})
	}
}

// compareService compares each key of the service with docker-compose config.
func compareService(t *testing.T, dir, file string, got *effective.Compose) {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Services map[string]map[string]any }
	if err := yaml.Unmarshal(src, &all); err != nil {
		t.Fatal(err)
	}
	first := got.Up[slices.Index(got.Up, "-f")+1]
	want := map[string]string{}
	for _, s := range all.Services {
		if len(all.Services) == 1 || s["pid"] == "host" {
			for key, v := range s {
				if fmt.Sprint(v) == "[]" {
					continue
				}
				want[key] = canonical(key, v, path.Dir(first))
			}
		}
	}
	ours := map[string]string{}
	for _, m := range got.Service {
		if v := canonical(m.Name, plain(t, m.Value), path.Dir(first)); v != "[]" {
			ours[m.Name] = v
		}
	}
	if !reflect.DeepEqual(ours, want) || len(want) == 0 {
		t.Errorf("service of %s: ours\n%q\ndocker-compose\n%q", dir, ours, want)
	}
	for _, m := range got.Service {
		found := false
		for pointer := range got.Origins {
			found = found || strings.HasPrefix(pointer+"/", "/"+m.Name+"/")
		}
		if list, isList := m.Value.([]any); !found && (!isList || len(list) > 0) {
			t.Errorf("nobody knows where %s comes from", m.Name)
		}
	}
}

// canonical writes a value so that forms which mean the same are the same.
func canonical(key string, v any, dir string) string {
	var items []string
	add := func(format string, args ...any) { items = append(items, fmt.Sprintf(format, args...)) }
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			if m, ok := x.(map[string]any); ok && key == "ports" {
				x = strings.Trim(fmt.Sprintf("%v:%v:%v", or(m["host_ip"]), or(m["published"]), m["target"]), ":")
			}
			s := fmt.Sprint(x)
			if key == "volumes" {
				s = strings.TrimSuffix(s, ":rw")
				if strings.HasPrefix(s, ".") {
					source, rest, _ := strings.Cut(s, ":")
					s = path.Join(dir, source) + ":" + rest
				}
			}
			add("%s", strings.TrimSuffix(s, "/tcp"))
		}
	case map[string]any:
		for name, x := range v {
			if x == nil {
				continue // a variable that the host does not have
			}
			if context := fmt.Sprint(x); key == "build" && name == "context" && !path.IsAbs(context) {
				x = path.Join(dir, context)
			}
			add("%s=%s", name, strings.NewReplacer("[", "", "]", "").Replace(canonical(name, x, dir)))
		}
	default:
		text := fmt.Sprint(v)
		if key == "entrypoint" || key == "command" {
			return strings.NewReplacer(`"`, "", "'", "", "$$", "$").Replace(text)
		}
		if key == "tmpfs" {
			text = "[" + text + "]"
		}
		return text
	}
	if key == "entrypoint" || key == "command" {
		return strings.ReplaceAll(strings.Join(items, " "), "$$", "$")
	}
	slices.Sort(items)
	if key == "extra_hosts" {
		for i := range items {
			items[i] = strings.Replace(items[i], "=", ":", 1)
		}
	}
	return "[" + strings.Join(items, " | ") + "]"
}

func or(v any) any {
	if v == nil {
		return ""
	}
	return v
}

// A part that cannot be known is named, and the rest is still there.
func TestComposeFilesThatAreMissing(t *testing.T) {
	const head = `{"dockerComposeFile": ["a.yml", "b.yml", "../../outside.yml"], "service": "app", "workspaceFolder": "/"}`
	dir := write(t, map[string]string{
		".devcontainer/devcontainer.json": head,
		".devcontainer/a.yml": "services:\n  app:\n    image: pretended:1\n    env_file: no.env\n" +
			"    extends: {file: gone.yml, service: x}\n    profiles: [dev]\n    environment: [A=1]\n",
	})
	got, err := compute(t, dir, filepath.Join(dir, ".devcontainer", "devcontainer.json"))
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(got.Unknown, "\n")
	for _, want := range []string{"the Compose file b.yml: there is none", "../../outside.yml: it lies outside",
		"gone.yml, which a Compose file extends", "env_file no.env", "it has profiles"} {
		if !strings.Contains(said, want) {
			t.Errorf("not said: %s\n%s", want, said)
		}
	}
	if got.Compose == nil || got.Compose.Service.Get("image") != "pretended:1" || got.Configuration.Get("remoteUser") != "imageuser" {
		t.Errorf("%+v", got)
	}
	if o := got.Compose.Origins["/environment/A"]; len(o) != 1 || o[0].Line != 7 || filepath.Base(o[0].File) != "a.yml" {
		t.Errorf("environment comes from %v", o)
	}
}

// The container that the reference CLI starts with Compose on the engine is
// what the two parts say together: the service, and the file laid over it.
func TestComposeOnTheEngine(t *testing.T) {
	testenv.Root(t)
	docker := testenv.Program(t, "docker")
	testenv.Program(t, "devcontainer")
	testenv.Program(t, "docker-compose")
	if err := exec.Command(docker, "image", "inspect", "debian:bookworm-slim").Run(); err != nil {
		testenv.Missing(t, "the image debian:bookworm-slim", err.Error())
	}
	dir := write(t, map[string]string{
		".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yml", "service": "app", "workspaceFolder": "/", "updateRemoteUserUID": ` +
			`false, "remoteUser": "root", "capAdd": ["SYS_NICE"],
			"containerEnv": {"OVER": "file"}, "mounts": ["type=bind,source=${localWorkspaceFolder}/data,target=/data,readonly"]}`,
		".devcontainer/c.yml": "services:\n  app:\n    image: debian:bookworm-slim\n    command: sleep infinity\n    cap_add: [NET_RAW]\n" +
			"    environment: {OVER: service, ONLY: service}\n    user: '1000'\n    network_mode: none\n    volumes: ['../data:/shown:ro']\n",
		"data/x": "",
	})
	config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	got, err := compute(t, dir, config)
	if err != nil || got.Compose == nil {
		t.Fatalf("%+v %v", got, err)
	}
	project := got.Compose.Project
	t.Cleanup(func() {
		ids, _ := exec.Command(docker, "ps", "-aq", "--filter", "label=devcontainer.local_folder="+dir).Output()
		for _, id := range strings.Fields(string(ids)) {
			_ = exec.Command(docker, "rm", "-f", "-v", id).Run()
		}
	})
	out, _ := testenv.Devcontainer(t, "up", "--workspace-folder", dir).Output()
	var answer struct{ ContainerID, ComposeProjectName string }
	if err := json.Unmarshal(out, &answer); err != nil || answer.ContainerID == "" || answer.ComposeProjectName != project {
		t.Fatalf("project %s: %s", project, out)
	}
	inspected, err := exec.Command(docker, "inspect", answer.ContainerID).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []struct {
		Config struct {
			User, Image string
			Env         []string
		}
		HostConfig struct {
			CapAdd      []string
			NetworkMode string
		}
		Mounts []struct {
			Destination string
			RW          bool
		}
	}
	if err := json.Unmarshal(inspected, &list); err != nil {
		t.Fatal(err)
	}
	c := list[0]
	service := got.Compose.Service
	if c.Config.User != service.Get("user") || c.Config.Image != service.Get("image") ||
		c.HostConfig.NetworkMode != service.Get("network_mode") {
		t.Errorf("%+v is not %v", c, service)
	}
	has := func(name string) bool {
		return slices.ContainsFunc(c.HostConfig.CapAdd, func(s string) bool { return strings.TrimPrefix(s, "CAP_") == name })
	}
	if !has("NET_RAW") || !has("SYS_NICE") || !strings.Contains(got.Compose.Override, "- SYS_NICE") {
		t.Errorf("capabilities %v", c.HostConfig.CapAdd)
	}
	if !slices.Contains(c.Config.Env, "OVER=file") || !slices.Contains(c.Config.Env, "ONLY=service") {
		t.Errorf("variables %v", c.Config.Env)
	}
	// The override has lost readonly; the service's own volume has not.
	for _, m := range c.Mounts {
		if m.Destination == "/data" && !m.RW || m.Destination == "/shown" && m.RW {
			t.Errorf("%+v", m)
		}
	}
	if len(c.Mounts) != 2 {
		t.Errorf("mounts %+v", c.Mounts)
	}
}

// Whatever stands in the files, nothing breaks, and every place is one.
func FuzzCompose(f *testing.F) {
	for _, files := range composeProjects {
		for name, text := range files {
			if strings.HasSuffix(name, "ml") {
				f.Add(files[".devcontainer/devcontainer.json"], text)
			}
		}
	}
	f.Add(`{"dockerComposeFile": "c.yml", "service": "a"}`,
		"services: {a: &x {env_file: [{path: [b]}, e, {}], volumes: [{source: .}, ~], build: ~, extends: *x, environment: [A, B=$C]}}\n")
	f.Fuzz(func(t *testing.T, config, text string) {
		tree := devcontainer.Memory{".devcontainer/devcontainer.json": config, ".devcontainer/c.yml": text, "compose.yaml": text,
			".devcontainer/extra.yaml": text, ".devcontainer/docker-compose.yml": text, "e": "A=1\n", ".env": "C"}
		p, err := devcontainer.Load(tree, ".devcontainer/devcontainer.json", ".devcontainer/devcontainer.json")
		if err != nil {
			t.Fatal(err)
		}
		got, err := effective.Compute(p,
			effective.Options{Host: effective.Host{Workspace: "/x/y", Config: "/x/y/.devcontainer/devcontainer.json"}})
		if err != nil || got.Compose == nil {
			return
		}
		for pointer, origin := range got.Compose.Origins {
			if len(origin) != 1 || origin[0].Line < 1 || origin[0].File == "" {
				t.Errorf("%s comes from %v", pointer, origin)
			}
		}
		if _, err := json.Marshal(got.Compose.Service); err != nil {
			t.Error(err)
		}
	})
}
