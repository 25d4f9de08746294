package rights

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/internal/jsonc"
)

// listed writes the rights of a configuration with its files, one a line: what,
// and the text at its place.
func listed(t *testing.T, config string, files map[string]string) string {
	t.Helper()
	read := func(name string) *jsonc.Document {
		text, ok := files[name]
		if !ok {
			return nil
		}
		doc, findings := jsonc.Parse(name, []byte(text))
		if doc == nil {
			t.Fatal(findings)
		}
		return doc
	}
	doc, findings := jsonc.Parse("devcontainer.json", []byte(config))
	if doc == nil {
		t.Fatal(findings)
	}
	s := Sources{Config: doc, Args: RunOptions.Parse(doc.Root.Member("runArgs")),
		Build:  ImageOptions.Parse(doc.Root.Member("build").Member("options")),
		Budget: budget.New(100), Metadata: func(id string) *jsonc.Document { return read(path.Base(id)) }}
	if text, ok := files["compose.yaml"]; ok {
		file := jsonc.Text("compose.yaml", []byte(text))
		s.ByCompose, s.Compose = true, compose.Load([]*jsonc.Document{file}, []string{"compose.yaml"}, nil, map[string]string{})
		s.Service = s.Compose.Service("app")
	}
	var lines []string
	for _, r := range List(s) {
		what := fmt.Sprintf("%d %s", r.Kind, r.Key)
		for _, part := range []string{r.Name, r.Value, r.Host} {
			if part != "" {
				what += " " + part
			}
		}
		if r.Kind == Mounted || r.Kind == Granted {
			what = fmt.Sprintf("%d %s %s %s:%s", r.Kind, r.Key, r.Mount.Type, r.Mount.Source, r.Mount.Target)
		}
		if r.Next {
			what += " (next)"
		}
		if r.From.Value != nil {
			what += " by " + r.From.Name
		}
		lines = append(lines, what+" @ "+string(r.Place.Doc.Src[r.Place.Start:r.Place.End]))
	}
	return strings.Join(lines, "\n")
}

// Every notation, with its value and its place.
func TestList(t *testing.T) {
	for _, c := range []struct {
		name, config string
		files        map[string]string
		want         []string
	}{
		{"properties",
			`{"privileged": true, "capAdd": ["cap_net_raw"], "securityOpt": ["label=disable"], "containerEnv": {"A": "b"}, ` +
				`"remoteEnv": {"T": "${localEnv:TOKEN}"},
			"mounts": ["type=bind,src=/a,dst=/b"], "appPort": [80, "1:2"], "containerUser": "dev", "initializeCommand": "x", "build": {"args": ` +
				`{"C": "d"}}, "workspaceMount": "type=bind,source=/w,target=/v"}`, nil, []string{
				`0 privileged @ true`, `1 capAdd NET_RAW @ "cap_net_raw"`, `2 securityOpt label=disable @ "label=disable"`,
				`5 mounts bind /a:/b @ "type=bind,src=/a,dst=/b"`,
				`10 containerEnv A b @ "b"`, `11 remoteEnv T ${localEnv:TOKEN} TOKEN @ "${localEnv:TOKEN}"`, `16 containerUser dev @ "dev"`,
				`18 initializeCommand x @ "x"`,
				`12 args C d @ "d"`, `5 workspaceMount bind /w:/v @ "type=bind,source=/w,target=/v"`, `14 appPort number 80 @ 80`,
				`14 appPort 1:2 @ "1:2"`}},
		{"the image", `{"image": "a:1"}`, nil, []string{`28 image a:1 @ "a:1"`}},
		{"an image that a Dockerfile wins over", `{"image": "a:1", "dockerFile": "Dockerfile"}`, nil, nil},
		{"images of Compose", `{"runArgs": []}`,
			map[string]string{"compose.yaml": "services:\n  app: {image: a:1}\n  db: {image: b:2}\n  made: {image: c:3, build: .}\n"}, []string{
				`28 image a:1 @ a:1`, `28 image b:2 (next) @ b:2`}},
		{"options",
			`{"runArgs": ["--privileged=false", "--cap-add", "all", "-v/a:/b:ro", "-e", "T", "--net=host", "--tmpfs", "/t:rw", "--sysctl", ` +
				`"net/ipv4/ip_forward=1", "-P"], "build": {"options": ["--build-arg", "T"]}}`, nil, []string{
				`17 build-arg build-arg T @ "--build-arg"`, `12 build-arg T T @ "--build-arg"`, `1 cap-add ALL @ "--cap-add"`,
				`5 volume bind /a:/b @ "-v/a:/b:ro"`, `10 env T T @ "-e"`,
				`3 network network host @ "--net=host"`, `5 tmpfs tmpfs :/t @ "--tmpfs"`, `15 sysctl net.ipv4.ip_forward 1 @ "--sysctl"`,
				`14 publish-all * @ "-P"`}},
		{"a volume that is a folder of the host by its options", `{"runArgs": []}`,
			map[string]string{
				"compose.yaml": "services:\n  app:\n    volumes: ['v:/c']\nvolumes: {v: {driver: local, driver_opts: {o: 'ro,bind', " +
					"device: ../..}}}\n"}, []string{
				`5 volumes bind /:/c @ 'v:/c'`}},
		{"Compose", `{"runArgs": []}`,
			map[string]string{
				"compose.yaml": "services:\n  app:\n    cap_add: [NET_ADMIN]\n    volumes_from: [db]\n    ports:\n" +
					"      - {target: 80, published: 8080, host_ip: '::1'}\n    secrets: [k]\n  db:\n    pid: host\n    volumes: ['/a:/b', v:/c]\n" +
					"secrets: {k: {file: ./key}}\nvolumes: {v: {driver_opts: {device: /dev/sda}}}\n"}, []string{
				`1 cap_add NET_ADMIN @ NET_ADMIN`, `14 ports [::1]:8080:80 @ {target: 80, published: 8080, host_ip: '::1'}`, `7 volumes_from db @ db`,
				`5 volumes_from bind /a:/b @ db`, `5 volumes_from bind /dev/sda:/c @ db`,
				`6 secrets bind ./key: @ k`, `3 pid pid host (next) @ host`, `5 volumes bind /a:/b (next) @ '/a:/b'`,
				`5 volumes bind /dev/sda:/c (next) @ v:/c`}},
		{"Features", `{"features": {"./a": {}, "ghcr.io/devcontainers/features/docker-in-docker:2": {}, "ghcr.io/x/y/z:1": {}}}`,
			map[string]string{
				"a": `{"capAdd": ["SYS_ADMIN"], "remoteEnv": {"A": "b"}, "dependsOn": {"./b": {}, "./a": {}}}`,
				"b": `{"containerEnv": {"DOCKER_HOST": "tcp://x"}}`}, []string{
				`27 features ./a by ./a @ "./a"`, `1 capAdd SYS_ADMIN by ./a @ "SYS_ADMIN"`, `27 features ./b ./a by ./a @ "./a"`,
				`10 containerEnv DOCKER_HOST tcp://x by ./a @ "tcp://x"`,
				`27 features ghcr.io/devcontainers/features/docker-in-docker:2 by ghcr.io/devcontainers/features/docker-in-docker:2 @ ` +
					`"ghcr.io/devcontainers/features/docker-in-docker:2"`,
				`0 privileged by ghcr.io/devcontainers/features/docker-in-docker:2 @ "ghcr.io/devcontainers/features/docker-in-docker:2"`,
				`27 features ghcr.io/x/y/z:1 by ghcr.io/x/y/z:1 @ "ghcr.io/x/y/z:1"`}},
		{"the first process and the users",
			`{"remoteUser": "me", "entrypoint": "no property", "runArgs": ["--entrypoint", "a", "--label", ` +
				`"devcontainer.metadata={\"entrypoint\": \"l\", \"remoteUser\": \"root\"}"], "features": {"./a": {}}}`, map[string]string{
				"a":            `{"entrypoint": "/f --x", "remoteUser": "no property"}`,
				"compose.yaml": "services:\n  app: {entrypoint: [b, c], command: 'd \"e f\"'}\n  db: {command: g, entrypoint: null}\n"}, []string{
				`23 remoteUser me @ "me"`, `24 entrypoint a @ "--entrypoint"`, `24 entrypoint b c @ [b, c]`, `25 command d e f @ 'd "e f"'`,
				`25 command g (next) @ g`,
				`27 features ./a by ./a @ "./a"`, `24 entrypoint /f --x by ./a @ "/f --x"`, `29  @ "--label"`,
				`23 remoteUser root @ "--label"`,
				`24 entrypoint l @ "--label"`}},
		{"of the wrong type",
			`{"privileged": {}, "capAdd": {"a": 1}, "mounts": [1, null], "containerEnv": ["A"], "features": ["x"], "appPort": {}, ` +
				`"initializeCommand": null}`, nil, []string{`0 privileged @ {}`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got, want := listed(t, c.config, c.files), strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// A value that many services share by extends is listed once, but for the dev
// container and the service whose network it joins.
func TestSharedValuesAreListedOnce(t *testing.T) {
	text := "services:\n  app: {extends: base, network_mode: 'service:wall'}\n  wall: {extends: base}\n  one: {extends: base}\n" +
		"  two: {extends: base}\n  base: {cap_add: [NET_RAW]}\n"
	got := listed(t, `{"runArgs": []}`, map[string]string{"compose.yaml": text})
	if n := strings.Count(got, "NET_RAW @"); n != 1 {
		t.Errorf("%d times of its own: %s", n, got)
	}
	if n := strings.Count(got, "NET_RAW (next)"); n != 2 {
		t.Errorf("%d times next to it, not 2: %s", n, got)
	}
}

// Joins reads the forms of a namespace.
func TestJoins(t *testing.T) {
	for _, c := range []struct {
		r    Right
		want string
	}{
		{Right{Name: "network", Value: "host"}, "true  "},
		{Right{Name: "network", Value: "alias=x,name=host"}, "true  "},
		{Right{Name: "network", Value: "name=container:db"}, "false db "},
		{Right{Name: "pid", Value: "service:db"}, "false  "},
		{Right{Name: "pid", Value: "service:db", Notation: Compose}, "false  db"},
		{Right{Name: "ipc", Value: "shareable"}, "false  "},
	} {
		host, container, service := c.r.Joins()
		if got := fmt.Sprint(host, " ", container, " ", service); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.r.Name, c.r.Value, got, c.want)
		}
	}
}
