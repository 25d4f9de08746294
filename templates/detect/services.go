package detect

import (
	"os"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/firewall"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// composeFiles are the names that Compose looks for, in its order.
var composeFiles = []string{"compose.yaml", "compose.yml", "docker-compose.yml", "docker-compose.yaml"}

// usualPorts are where well-known services listen, by the last part of their image's name.
var usualPorts = map[string]string{
	"postgres": "5432", "postgis": "5432", "pgvector": "5432", "timescaledb": "5432", "mysql": "3306", "mariadb": "3306",
	"redis": "6379", "valkey": "6379", "mongo": "27017", "memcached": "11211", "rabbitmq": "5672", "nats": "4222", "kafka": "9092",
	"elasticsearch": "9200", "opensearch": "9200", "minio": "9000", "localstack": "4566", "mailpit": "1025", "mailhog": "1025",
}

// serviceName is a name of one label: no such name is anybody's on the internet.
var serviceName = lazyregexp.New(`^[a-z]([a-z0-9_-]*[a-z0-9])?$`)

// Services are those of Report.Services, of the project in dir, without a look at anything
// else in it; none where it cannot be read.
func Services(dir string) []Proposal {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil
	}
	l := &look{tree: &tree{root: root, left: maxTotal}}
	defer l.tree.close()
	l.services()
	return l.report.Services
}

// services proposes the services that the project's Compose file takes from images, by
// name and port. Those that it builds are the project itself.
func (l *look) services() {
	at := slices.IndexFunc(composeFiles, l.tree.has)
	if at < 0 {
		return
	}
	file := composeFiles[at]
	doc := jsonc.Text(file, l.tree.read(file))
	for _, s := range compose.Load([]*jsonc.Document{doc}, []string{file}, nil, nil).Services() {
		image := s.Get("image").String()
		if image == "" || s.Get("build") != nil || !serviceName.MatchString(s.Name) {
			continue
		}
		line, _ := doc.Position(s.Start)
		for _, port := range portsOf(s, image) {
			if entry := s.Name + ":" + port; firewall.ValidAllow(entry) {
				add(&l.report.Services, Proposal{Value: entry, Reason: "a service of the project", File: file, Line: line})
			}
		}
	}
}

// portsOf returns the ports that a service says it listens on, or else the usual one of
// its image.
func portsOf(s *compose.Service, image string) (ports []string) {
	take := func(text string) {
		text = strings.TrimSuffix(text[strings.LastIndexByte(text, ':')+1:], "/tcp")
		if text != "" && !slices.Contains(ports, text) {
			ports = append(ports, text)
		}
	}
	for _, list := range []*compose.Node{s.Get("ports"), s.Get("expose")} {
		if list == nil {
			continue
		}
		for _, item := range list.Items {
			if item.Kind == compose.Map {
				take(item.Get("target").String())
			} else {
				take(item.String())
			}
		}
	}
	if len(ports) > 0 {
		return ports
	}
	image, _, _ = strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(image), ":")
	take(usualPorts[name])
	return ports
}

// PrivateNames returns the names of the services among the entries of an allowlist:
// engines give services private addresses.
func (r Report) PrivateNames(allow []string) (names []string) {
	for _, p := range r.Services {
		if name, _, _ := strings.Cut(p.Value, ":"); slices.Contains(allow, p.Value) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
