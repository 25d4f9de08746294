package detect

import (
	"os"
	"path"
	"path/filepath"
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

// Services is what Look reports about the services of the project in dir, without a look
// at anything else in it; nothing where it cannot be read.
func Services(dir string) Report {
	full, err := filepath.Abs(dir)
	if err != nil {
		return Report{}
	}
	root, err := os.OpenRoot(full)
	if err != nil {
		return Report{}
	}
	l := &look{tree: &tree{root: root, left: maxTotal}}
	defer l.tree.close()
	l.services(filepath.Base(full))
	return l.report
}

// services proposes the services that the project's Compose file takes from images, by
// name and port, and notes the network of each. Those that it builds are the project
// itself. base is the name of the project's folder, "" = not known.
func (l *look) services(base string) {
	at := slices.IndexFunc(composeFiles, l.tree.has)
	if at < 0 {
		return
	}
	file := composeFiles[at]
	doc := jsonc.Text(file, l.tree.read(file))
	p := compose.Load([]*jsonc.Document{doc}, []string{file}, nil, nil)
	project := l.composeProject(p.Root, base)
	l.report.networks = map[string]string{}
	for _, s := range p.Services() {
		for _, entry := range ServiceEntries(s) {
			line, _ := doc.Position(s.Start)
			add(&l.report.Services, Proposal{Value: entry, Reason: "a service of the project", File: file, Line: line})
			l.report.networks[s.Name] = networkOf(p.Root, s, project)
		}
	}
}

// ServiceEntries returns the entries of an allowlist that open a service which is taken from
// an image; none for one that is built, or whose name could be anybody's on the internet.
func ServiceEntries(s *compose.Service) (entries []string) {
	image := s.Get("image").String()
	if image == "" || s.Get("build") != nil || !serviceName.MatchString(s.Name) {
		return nil
	}
	for _, port := range portsOf(s, image) {
		if entry := s.Name + ":" + port; firewall.ValidAllow(entry) {
			entries = append(entries, entry)
		}
	}
	return entries
}

// OwnBasename is the name of the project's folder in every clone, in a devcontainer.json.
const OwnBasename = "${localWorkspaceFolderBasename}"

// EngineName is a network's name as the engine knows it, of the project in dir.
func EngineName(network, dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		network = strings.ReplaceAll(network, OwnBasename, filepath.Base(full))
	}
	return network
}

var (
	projectVariable = lazyregexp.New(
		`(?m)^[ \t]*(?:export[ \t]+)?COMPOSE_PROJECT_NAME[ \t]*=[ \t]*["']?([a-z0-9][a-z0-9_-]*)["']?[ \t\r]*$`)
	notInProject = lazyregexp.New(`[^a-z0-9_-]`)
	// engineNetwork is what engines take for a network's name, without those that are a mode
	// and with which the container would have another one's network, or none.
	engineNetwork = lazyregexp.New(`^(?:\$\{localWorkspaceFolderBasename\}[a-zA-Z0-9_.-]+|[a-zA-Z0-9][a-zA-Z0-9_.-]*)$`)
	networkModes  = []string{"host", "none", "bridge", "default", "container"}
)

// composeProject is the name that Compose gives the project (Compose specification, "name"),
// as a devcontainer.json may have it; "" = not known.
func (l *look) composeProject(root *compose.Node, base string) string {
	if m := projectVariable.FindSubmatch(l.tree.read(".env")); m != nil {
		return string(m[1])
	}
	if name := root.Get("name").String(); name != "" {
		return name
	}
	name := strings.TrimLeft(notInProject.ReplaceAllString(strings.ToLower(base), ""), "_-")
	if name == base && base != "" {
		return OwnBasename
	}
	return name
}

// networkOf is the engine's network in which Compose starts a service: the first of its own
// list; "" = none that another container may join, or not known.
func networkOf(root *compose.Node, s *compose.Service, project string) string {
	if s.Get("network_mode") != nil {
		return ""
	}
	key := "default"
	if list := s.Get("networks").Scalars(); len(list) > 0 {
		key = list[0].Text
	} else if own := s.Get("networks"); own != nil && len(own.Members) > 0 {
		key = own.Members[0].Name
	}
	def := root.Get("networks").Get(key)
	name := def.Get("name").String()
	switch {
	case name != "":
	case def.Get("external").True():
		name = key
	case project != "":
		name = project + "_" + key
	}
	if !engineNetwork.MatchString(name) || slices.Contains(networkModes, name) {
		return ""
	}
	return name
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

// NetworkOf returns the network of the engine that most of these services are in, as
// "--network" of a devcontainer.json's runArgs has it; "" = none is known.
func (r Report) NetworkOf(services []string) (network string) {
	count := map[string]int{}
	for _, name := range services {
		if n := r.networks[name]; n != "" {
			if count[n]++; count[n] > count[network] {
				network = n
			}
		}
	}
	return network
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
