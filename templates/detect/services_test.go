package detect_test

import (
	"fmt"
	"slices"
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
	if got := flat(detect.Services(dir)); !slices.Equal(got, want) {
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
		r := look(t, project(t, map[string]string{"compose.yml": "services: {" + fmt.Sprintf("%q", name) + ": {image: postgres, expose: [0, 99999, 'x', '*']}}"}))
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
