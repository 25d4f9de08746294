package effective_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/effective"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// compute works out the configuration in the project's folder, as the command
// does, with the image that the tests pretend to have.
func compute(t *testing.T, dir, config string) (*effective.Result, error) {
	t.Helper()
	var result *effective.Result
	err := devcontainer.Open(config, func(p *devcontainer.Project) error {
		var err error
		result, err = effective.Compute(p, effective.Options{
			Host: effective.Host{Workspace: dir, Config: config,
				Env: map[string]string{"SBX_SET": "value of the host", "HOME": "/home/x", "PATH": os.Getenv("PATH")}},
			Image: func(string, bool) (effective.Image, error) { return pretended, nil },
		})
		return err
	})
	return result, err
}

// pretended is what every image is said to be, to us and to the reference CLI.
var pretended = effective.Image{
	Labels: map[string]string{"devcontainer.metadata": `[
		{"id": "ghcr.io/a/first:1", "capAdd": ["SYS_PTRACE"], "mounts": ["type=volume,source=a-${devcontainerId},target=/a"], ` +
		`"entrypoint": "/usr/local/share/init.sh",
		 "onCreateCommand": "from the image", "customizations": {"vscode": {"extensions": ["a.b"]}}},
		{"remoteUser": "imageuser", "containerEnv": {"FROM": "image", "HOST": "${localEnv:SBX_SET}"}, "forwardPorts": [3000, "db:1"], "init": ` +
		`true, "waitFor": "postCreateCommand",
		 "hostRequirements": {"cpus": 2, "memory": "1gb", "gpu": "optional"}, "portsAttributes": {"3000": {"label": ` +
		`"i"}}, "overrideCommand": true}
	]`},
	Cmd: []string{"sh"},
}

// pretend makes a program that answers the few questions which the reference
// CLI asks the engine.
func pretend(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	inspected, err := json.Marshal([]any{map[string]any{"Id": "sha256:1", "Architecture": "amd64", "Os": "linux",
		"Config": map[string]any{"User": "imageuser", "Labels": pretended.Labels, "Env": []string{}, "Entrypoint": pretended.Entrypoint,
			"Cmd": pretended.Cmd}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "image.json"), inspected, 0o644); err != nil {
		t.Fatal(err)
	}
	script := "#!/bin/sh\necho \"$*\" >>" + dir + "/asked\n[ \"$1\" != run ] || { printf '%s\\0' \"$@\" >" + dir +
		"/run; exit 1; }\n[ \"$1\" != compose ] || exit 1\ncase \"$*\" in\n  *inspect*) cat " + dir +
		"/image.json ;;\n  *version*) echo 28.2.2 ;;\n  ps* | info* | build*) ;;\n  *) exit 1 ;;\nesac\n"
	name := filepath.Join(dir, "docker")
	if err := os.WriteFile(name, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return name
}

// reference asks the reference CLI.
func reference(t *testing.T, docker, dir, config string, merged bool) (map[string]any, error) {
	t.Helper()
	args := []string{"read-configuration", "--workspace-folder", dir, "--config", config, "--docker-path", docker}
	if merged {
		args = append(args, "--include-merged-configuration")
	}
	cmd := testenv.Devcontainer(t, args...)
	cmd.Env = append(cmd.Env, "SBX_SET=value of the host", "HOME=/home/x")
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var answer map[string]any
	if err := json.Unmarshal(out, &answer); err != nil {
		return nil, err
	}
	return answer, nil
}

// plain makes comparable what was written as JSON.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// compare reports every property that differs from the reference CLI.
func compare(t *testing.T, dir, config, docker string) {
	t.Helper()
	want, refErr := reference(t, docker, dir, config, true)
	got, err := compute(t, dir, config)
	if refErr != nil || err != nil {
		if (refErr == nil) != (err == nil) {
			var exit *exec.ExitError
			errors.As(refErr, &exit)
			if got != nil && len(got.Unknown) > 0 {
				return // refused there, said here
			}
			t.Errorf("the reference CLI: %v; we: %v", refErr, err)
		}
		return
	}
	merged := want["mergedConfiguration"].(map[string]any)
	delete(merged, "configFilePath")
	ours := plain(t, got.Configuration).(map[string]any)
	for name := range merged {
		if !reflect.DeepEqual(ours[name], merged[name]) {
			t.Errorf("%s:\n  ours %#v\n  reference %#v", name, ours[name], merged[name])
		}
	}
	for name := range ours {
		if _, ok := merged[name]; !ok {
			t.Errorf("%s: only ours has it: %#v", name, ours[name])
		}
	}
	workspace := want["workspace"].(map[string]any)
	folder, _ := workspace["workspaceFolder"].(string)
	mount, _ := workspace["workspaceMount"].(string)
	if got.Folder != folder || got.Mount != mount {
		t.Errorf("workspace: ours %q %q, reference %q %q", got.Folder, got.Mount, folder, mount)
	}
	if len(got.Unknown) > 0 {
		t.Errorf("not known: %q", got.Unknown)
	}
}

func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "project")
	for name, text := range files {
		full := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

const featureA = `{"id": "a", "version": "1.0.0", "name": "A", "installsAfter": ["./c"], "privileged": true, ` +
	`"capAdd": ["SYS_PTRACE", "NET_RAW"],
	"mounts": [{"source": "a-${devcontainerId}", "target": "/a", "type": "volume"}], "postCreateCommand": {"a": "one", "b": ["two"]},
	"containerEnv": {"A": "not merged"}, "customizations": {"vscode": {"settings": {"x": "${localEnv:SBX_SET}"}}, "jetbrains": {"y": 1}}}`

var projects = map[string]map[string]string{
	"everything": {".devcontainer/devcontainer.json": `{
		"name": "x", "image": "pretended:1", "capAdd": ["NET_RAW", "SYS_ADMIN"], "securityOpt": ["seccomp=unconfined"], ` +
		`"init": false, "privileged": false,
		"mounts": ["source=b,dst=/a,type=volume", {"type": "bind", "source": "${localWorkspaceFolder}/x", "target": "/x", "readonly": true}],
		"containerEnv": {"FROM": "file", "ID": "${devcontainerId}", "LATER": "${containerEnv:PATH}"}, "remoteEnv": {"A": null, ` +
		`"P": "${containerEnv:PATH}:/x"},
		"forwardPorts": [3000, "localhost:3000", "db:1", 4000], "portsAttributes": {"3000": {"label": "f"}}, "onCreateCommand": ["a", ` +
		`"b"], "postStartCommand": "",
		"customizations": {"vscode": {"extensions": ["c.d"]}}, "hostRequirements": {"cpus": 4, "storage": "32gb", "gpu": {"cores": 100}}, ` +
		`"runArgs": ["--rm", "-e", "X=${localEnv:HOME}"],
		"overrideCommand": false, "updateRemoteUserUID": false, "shutdownAction": "none", "appPort": [8080, "9000:9000"], "unknown": {"deep": ` +
		`["${localWorkspaceFolderBasename}"]}, "remoteUser": ""
	}`},
	"variables": {
		".devcontainer/devcontainer.json": `{"image": "pretended:1", "name": "${localEnv:NOPE:http://x} ${env:SBX_SET} ${localEnv:NOPE} ` +
			`${nothing} ${containerWorkspaceFolderBasename} ${} ${a${localEnv:SBX_SET}}",
		"workspaceFolder": "/w/${localWorkspaceFolderBasename}", "workspaceMount": ` +
			`"type=bind,source=${localWorkspaceFolder},target=${containerWorkspaceFolder}"}`},
	"only a folder": {".devcontainer/devcontainer.json": `{"image": "pretended:1", "workspaceFolder": "/elsewhere"}`},
	"no mount":      {".devcontainer.json": `{"image": "pretended:1", "workspaceFolder": "/w", "workspaceMount": ""}`},
	"legacy": {
		".devcontainer/devcontainer.json": `{"image": "pretended:1", "extensions": ["a.b"], "settings": {"k": 1}, "devPort": 1, ` +
			`"customizations": {"vscode": {"settings": {"k": 2}, "extensions": ["c.d"]}}}`},
	"a name given twice": {
		".devcontainer/devcontainer.json": `{"image": "pretended:1", "init": true, "capAdd": ["A"], "capAdd": ["B", ` +
			`"B"], "privileged": "false"}`},
	"a variable without name": {".devcontainer/devcontainer.json": `{"image": "pretended:1", "name": "${localEnv}"}`},
	"Features": {".devcontainer/devcontainer.json": `{"image": "pretended:1", "features": {"./a": {}, "./b": "2", "./c": true}}`,
		".devcontainer/a/devcontainer-feature.json": featureA, ".devcontainer/a/install.sh": "",
		".devcontainer/b/devcontainer-feature.json": `{"id": "b", "version": "1.0.0", "onCreateCommand": "b", "init": true, "dependsOn": ` +
			`{"./d": {}}}`, ".devcontainer/b/install.sh": "",
		".devcontainer/c/devcontainer-feature.json": `{"id": "c", "version": "1.0.0", "onCreateCommand": "c", "entrypoint": "/c.sh", ` +
			`"extensions": ["old.one"]}`, ".devcontainer/c/install.sh": "",
		".devcontainer/d/devcontainer-feature.json": `{"id": "d", "version": "1.0.0", "onCreateCommand": "d"}`, ".devcontainer/d/install.sh": ""},
	"order of Features": {
		".devcontainer/devcontainer.json": `{"image": "pretended:1", "features": {"./z": {}, "./b-1": {}, "./b1": {}, "./B": {}}, ` +
			`"overrideFeatureInstallOrder": ["./z"]}`,
		".devcontainer/z/devcontainer-feature.json": `{"id": "z", "version": "1.0.0", "onCreateCommand": "z"}`, ".devcontainer/z/install.sh": "",
		".devcontainer/b-1/devcontainer-feature.json": `{"id": "b-1", "version": "1.0.0", "onCreateCommand": "b-1"}`,
		".devcontainer/b-1/install.sh":                "",
		".devcontainer/b1/devcontainer-feature.json":  `{"id": "b1", "version": "1.0.0", "onCreateCommand": "b1"}`,
		".devcontainer/b1/install.sh":                 "",
		".devcontainer/B/devcontainer-feature.json":   `{"id": "b", "version": "1.0.0", "onCreateCommand": "B"}`,
		".devcontainer/B/install.sh":                  ""},
	"Dockerfile": {
		".devcontainer/devcontainer.json": `{"build": {"dockerfile": "../Dockerfile", "target": "one", "args": {"V": "1"}}, "image": "ignored"}`,
		"Dockerfile":                      "ARG V\nFROM pretended:$V AS one\nUSER someone\nFROM scratch\n"},
}

// The merged configuration is the reference CLI's, property by property.
func TestEqualsTheReferenceCLI(t *testing.T) {
	testenv.Program(t, "devcontainer")
	docker := pretend(t)
	for name, files := range projects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := write(t, files)
			config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
			if _, err := os.Stat(config); err != nil {
				config = filepath.Join(dir, ".devcontainer.json")
			}
			compare(t, dir, config, docker)
		})
	}
}

// A fact behind rule SBX711: the reference CLI takes a line of a here-document
// for a FROM, and asks the engine for the image that stands there.
func TestReferenceCLIReadsLines(t *testing.T) {
	testenv.Program(t, "devcontainer")
	docker := pretend(t)
	dir := write(t, map[string]string{
		".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`,
		".devcontainer/Dockerfile":        "FROM pretended:1\nRUN <<EOF python3\nfrom sys import version\nEOF\n",
	})
	config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
	if _, err := reference(t, docker, dir, config, true); err != nil {
		t.Fatal(err)
	}
	asked, err := os.ReadFile(filepath.Join(filepath.Dir(docker), "asked"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(asked), "inspect --type image sys") || strings.Contains(string(asked), "pretended") {
		t.Errorf("it asked\n%s", asked)
	}
}

// A label of the project's own files is not merged, as the reference CLI merges none for a
// container that does not exist: it is named.
func TestOwnLabelIsNamed(t *testing.T) {
	dir := write(t, map[string]string{
		".devcontainer/devcontainer.json": `{"build": {"dockerfile": "Dockerfile"}}`,
		".devcontainer/Dockerfile":        "FROM scratch\nLABEL devcontainer.metadata='[{\"remoteUser\": \"root\"}]'\n",
	})
	got, err := compute(t, dir, filepath.Join(dir, ".devcontainer", "devcontainer.json"))
	if err != nil || got.Configuration.Has("remoteUser") || len(got.Unknown) != 1 ||
		!strings.HasPrefix(got.Unknown[0], "whether remoteUser counts: ") || !strings.Contains(got.Unknown[0], "Dockerfile:2 has it") {
		t.Errorf("%+v %v", got, err)
	}
}

// Of a Compose service the image's label counts, too; there is no docker run.
func TestComposeService(t *testing.T) {
	dir := write(t, map[string]string{
		".devcontainer/devcontainer.json": `{"dockerComposeFile": "c.yml", "service": "s", "capAdd": ["X"]}`,
		".devcontainer/c.yml":             "services: {s: {build: {context: .., args: {T: '9'}}}}\n",
		"Dockerfile":                      "ARG T=1\nFROM pretended:$T\n",
	})
	got, err := compute(t, dir, filepath.Join(dir, ".devcontainer", "devcontainer.json"))
	if err != nil || got.Run != nil || got.Folder != "/" || len(got.Unknown) > 0 {
		t.Fatalf("%+v %v", got, err)
	}
	if user := got.Configuration.Get("remoteUser"); user != "imageuser" || got.Origins["/remoteUser"][0].Source != "image pretended:9" {
		t.Errorf("remoteUser %v from %v", user, got.Origins["/remoteUser"])
	}
}

// The engine's command line is the reference CLI's, word by word.
func TestRunLineEqualsTheReferenceCLI(t *testing.T) {
	testenv.Program(t, "devcontainer")
	for _, name := range []string{"everything", "no mount", "only a folder", "a mount without a target"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			docker := pretend(t)
			files := projects[name]
			if name == "a mount without a target" {
				files = map[string]string{
					".devcontainer/devcontainer.json": `{"image": "pretended:1", "mounts": [{"type": "tmpfs"}], "overrideCommand": false, ` +
						`"updateRemoteUserUID": false}`}
			}
			dir := write(t, files)
			config := filepath.Join(dir, ".devcontainer", "devcontainer.json")
			if files[".devcontainer.json"] != "" {
				config = filepath.Join(dir, ".devcontainer.json")
				withoutUID := strings.Replace(files[".devcontainer.json"], "{", `{"updateRemoteUserUID": false, `, 1)
				if err := os.WriteFile(config, []byte(withoutUID), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if name == "only a folder" {
				if err := os.WriteFile(config, []byte(`{"image": "pretended:1", "workspaceFolder": "/elsewhere", "updateRemoteUserUID": false}`),
					0o644); err != nil {
					t.Fatal(err)
				}
			}
			cmd := testenv.Devcontainer(t, "up", "--workspace-folder", dir, "--config", config, "--docker-path", docker)
			cmd.Env = append(cmd.Env, "SBX_SET=value of the host", "HOME=/home/x")
			out, _ := cmd.CombinedOutput() // it fails, because nothing is started
			recorded, err := os.ReadFile(filepath.Join(filepath.Dir(docker), "run"))
			if err != nil {
				t.Fatalf("the reference CLI ran nothing: %s", out)
			}
			want := strings.Split(strings.TrimSuffix(string(recorded), "\x00"), "\x00")
			for i := range want {
				if strings.HasPrefix(want[i], "devcontainer.metadata=") {
					want = append(want[:i-1], want[i+1:]...)
					break
				}
			}
			got, err := compute(t, dir, config)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got.Run[1:], want) {
				t.Errorf("ours\n%q\nreference\n%q", got.Run[1:], want)
			}
		})
	}
}

// The same for real files, without what needs a registry or files that are not
// in the corpus. All of them take minutes, so usually a few are picked.
func TestCorpusEqualsTheReferenceCLI(t *testing.T) {
	corpus := testenv.Corpus(t, "corpus")
	testenv.Program(t, "devcontainer")
	docker := pretend(t)
	every := 50
	if os.Getenv("SBX_WHOLE_CORPUS") != "" {
		every = 1
	}
	seen, compared := 0, 0
	err := filepath.WalkDir(corpus, func(file string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".json") || !strings.Contains(filepath.Base(file), "devcontainer") &&
			!strings.Contains(file, "__scenarios__") {
			return err
		}
		src, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		standard, err := hujson.Standardize(src)
		var config map[string]any
		if err != nil || json.Unmarshal(standard, &config) != nil {
			return nil
		}
		if seen++; seen%every != 0 {
			return nil
		}
		for _, name := range []string{"features", "overrideFeatureInstallOrder", "build", "dockerFile", "context",
			"dockerComposeFile", "service"} {
			delete(config, name)
		}
		config["image"] = "pretended:1"
		text, err := json.Marshal(config)
		if err != nil {
			return err
		}
		compared++
		t.Run(strings.TrimPrefix(file, corpus+"/"), func(t *testing.T) {
			t.Parallel()
			dir := write(t, map[string]string{".devcontainer/devcontainer.json": string(text)})
			compare(t, dir, filepath.Join(dir, ".devcontainer", "devcontainer.json"), docker)
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
	t.Logf("%d files compared", compared)
}
