package detect_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/templates/detect"
)

func TestServicesOfACompose(t *testing.T) {
	dir := project(t, map[string]string{"compose.yaml": `
services:
  web: {build: ., image: web, ports: ["3000:3000"]}
  db: {image: "docker.io/library/postgres:17@sha256:0123"}
  cache:
    image: redis
    ports: ["127.0.0.1:16379:6380/tcp", {target: 6381, published: 1}, "7000-7001:7000-7001"]
    expose: [6380]
  dns: {image: acme/dns, expose: ["4000/udp"]}
  silent: {image: acme/silent}
`, "docker-compose.yml": "services: {other: {image: mysql}}"})
	r := look(t, dir)
	want := []string{"db:5432 compose.yaml:4", "cache:6380 compose.yaml:5", "cache:6381 compose.yaml:5", "dns:4000/udp compose.yaml:9"}
	if got := flat(r.Services); !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if got := flat(detect.Services(dir).Services); !slices.Equal(got, want) {
		t.Errorf("alone: %q", got)
	}
	if got := r.PrivateNames([]string{"cache:6380", "cache:6381", "db", "docs.example.com"}); !slices.Equal(got, []string{"cache"}) {
		t.Errorf("private are %q", got)
	}
	if len(r.Hosts)+len(r.Presets) > 0 {
		t.Errorf("%v %v", flat(r.Hosts), flat(r.Presets))
	}
}

// Attack: a service has a name of the internet, so that a person who allows that name
// lets it lead into private networks, or one that means more; or there are very many.
func TestAttackNamesOfServices(t *testing.T) {
	for _, name := range []string{"docs.example.com", "*", "10", "192.0.2.1", "a:22", "x/8", "DB", "@list", "git:github.com", "-x", ""} {
		r := look(t,
			project(t,
				map[string]string{"compose.yml": "services: {" + fmt.Sprintf("%q", name) + ": {image: postgres, expose: [0, 99999, 'x', '*']}}"}))
		for _, p := range r.Services {
			t.Errorf("%q is proposed as %s", name, p.Value)
		}
		r = look(t, project(t, map[string]string{"compose.yml": "services: {" + fmt.Sprintf("%q", name) + ": {image: postgres}}"}))
		if names := r.PrivateNames([]string{name, name + ":5432"}); len(names) > 0 {
			t.Errorf("%q becomes private", names)
		}
	}
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "  s%d: {image: mysql}\n", i)
	}
	if r := look(t, project(t, map[string]string{"compose.yml": "services:\n" + b.String()})); len(r.Services) > 50 {
		t.Errorf("%d services", len(r.Services))
	}
}

// The network is the one that Compose makes: by the project's name or its folder's, by the
// names that the file gives, in every clone.
func TestNetworksOfServices(t *testing.T) {
	const plain = "services: {db: {image: postgres}}\n"
	for _, c := range []struct{ what, folder, compose, env, want string }{
		{"the folder's name, wherever a clone is", "app", plain, "", "${localWorkspaceFolderBasename}_default"},
		{"a folder's name that Compose changes", "My.App", plain, "", "myapp_default"},
		{"a name of the file", "app", "name: shop\n" + plain, "", "shop_default"},
		{"a name of .env, which comes first", "app", "name: shop\n" + plain, "X=1\nexport COMPOSE_PROJECT_NAME='web'\n", "web_default"},
		{"a network of its own", "app", "services: {db: {image: postgres, networks: [back]}}\nnetworks: {back: {}}\n", "",
			"${localWorkspaceFolderBasename}_back"},
		{"one as a map", "app", "services: {db: {image: postgres, networks: {back: {aliases: [x]}}}}\n", "",
			"${localWorkspaceFolderBasename}_back"},
		{"a network with a name", "app", plain + "networks: {default: {name: shared}}\n", "", "shared"},
		{"one that is there already", "app", "services: {db: {image: postgres, networks: [edge]}}\nnetworks: {edge: {external: true}}\n", "",
			"edge"},
		{"the network of another container", "app", "services: {db: {image: postgres, network_mode: 'service:x'}}\n", "", ""},
		{"a name that depends on the machine", "app", "name: ${NAME}\n" + plain, "", ""},
	} {
		dir := filepath.Join(t.TempDir(), c.folder)
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(filepath.Join(dir, "compose.yaml"), []byte(c.compose), 0o644),
			os.WriteFile(filepath.Join(dir, ".env"), []byte(c.env), 0o600)); err != nil {
			t.Fatal(err)
		}
		if got := look(t, dir).NetworkOf([]string{"db"}); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	r := look(t, project(t, map[string]string{"compose.yaml": "services:\n  a: {image: redis, networks: [one]}\n" +
		"  b: {image: redis, networks: [two]}\n  c: {image: redis, networks: [two]}\n"}))
	if got := r.NetworkOf([]string{"a", "b", "c"}); !strings.HasSuffix(got, "_two") {
		t.Errorf("most are in %q", got)
	}
	if got := r.NetworkOf([]string{"other"}) + r.NetworkOf(nil); got != "" {
		t.Errorf("nothing is joined for %q", got)
	}
}

// Attack: a Compose file names the machine's own network, another container's, or more than a
// network, so that the dev container of its service gets it.
func TestAttackTheNetworkOfAService(t *testing.T) {
	for _, name := range []string{"host", "none", "bridge", "default", "container", "container:abc", "ns:/proc/1/ns/net",
		"x --privileged", "x,alias=y",
		"name=host", "${localEnv:HOME}", "${localWorkspaceFolder}", "-v=/:/x", "", "\nhost"} {
		for _, compose := range []string{
			"services: {db: {image: postgres}}\nnetworks: {default: {name: " + strconv.Quote(name) + "}}\n",
			"services: {db: {image: postgres, networks: [" + strconv.Quote(name) + "]}}\nnetworks: {" + strconv.Quote(name) +
				": {external: true}}\n",
		} {
			got := look(t, project(t, map[string]string{"compose.yaml": compose})).NetworkOf([]string{"db"})
			if got != "" && got != "${localWorkspaceFolderBasename}_default" && got != "${localWorkspaceFolderBasename}_" {
				t.Errorf("%q: the container would get %q", name, got)
			}
		}
	}
}
