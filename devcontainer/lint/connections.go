package lint

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// connection is a variable of a service that says where a server is.
type connection struct {
	rights.Place
	name           string // of the variable
	by             *compose.Service
	kind           string // of the server; "" = any database with SQL, or MongoDB
	host, port     string
	user, password string
	any            bool // the scheme is none of a database's
}

var (
	// serverURL matches the address of a server.
	serverURL = lazyregexp.New(`^(?:jdbc:)?([a-z][a-z0-9]*)(?:\+\w+)?://(?:([^/@\s]*)@)?([A-Za-z0-9][\w.-]*)(?::(\d+))?(?:[/?;]|$)`)
	// serverWords matches an address in the form of .NET.
	serverWords = lazyregexp.New(`(?i)^(?:.*;)?\s*(?:host|server|data source)\s*=\s*(?:tcp:)?([a-z0-9][\w.-]*)(?:[,:](\d+))?\s*(?:;|$)`)
	// hostName matches variables whose value is the name of a server.
	hostName = lazyregexp.New(`^(?:\w+_)?(DB|DATABASE|PG|POSTGRES|POSTGRESQL|MYSQL|MARIADB|REDIS|MONGO|MONGODB|RABBITMQ|MSSQL)_?` +
		`(?:HOST|HOSTNAME|SERVER)$`)
	bareName = lazyregexp.New(`^[a-zA-Z][a-zA-Z0-9_-]*$`)
	schemes  = map[string]string{"postgres": "PostgreSQL", "postgresql": "PostgreSQL", "postgis": "PostgreSQL", "psql": "PostgreSQL",
		"mysql": "MySQL", "mysql2": "MySQL", "mariadb": "MySQL", "redis": "Redis", "mongodb": "MongoDB", "amqp": "RabbitMQ"}
	kindOfName = map[string]string{"PG": "PostgreSQL", "POSTGRES": "PostgreSQL", "POSTGRESQL": "PostgreSQL", "MYSQL": "MySQL",
		"MARIADB": "MySQL", "REDIS": "Redis", "MONGO": "MongoDB", "MONGODB": "MongoDB", "RABBITMQ": "RabbitMQ", "MSSQL": "SQL Server"}
	anyDatabase = []string{"PostgreSQL", "MySQL", "MongoDB", "SQL Server"}
)

// connectionOf reads a variable; ok is false when it names no server.
func connectionOf(name, value string) (c connection, ok bool) {
	c.name = name
	if m := serverURL.FindStringSubmatch(value); m != nil {
		c.kind, c.host, c.port = schemes[m[1]], m[3], m[4]
		c.any = c.kind == ""
		if !strings.Contains(m[2], "$") && !strings.Contains(m[2], "%") {
			c.user, c.password, _ = strings.Cut(m[2], ":")
		}
		return c, true
	}
	if m := hostName.FindStringSubmatch(name); m != nil && (bareName.MatchString(value) || value == "127.0.0.1") {
		c.kind, c.host = kindOfName[m[1]], value
		return c, true
	}
	if m := serverWords.FindStringSubmatch(value); m != nil && strings.Contains(value, ";") {
		c.host, c.port = m[1], m[2]
		return c, true
	}
	return c, false
}

// fits reports whether a service is what a connection looks for.
func (c connection) fits(s *compose.Service) (known database, ok bool) {
	known, _, _, ok = databaseOf(s)
	return known, ok && !c.any && (c.kind == known.kind || c.kind == "" && slices.Contains(anyDatabase, known.kind))
}

func (c connection) isLocal() bool { return c.host == "localhost" || c.host == "127.0.0.1" }

// connections are those of the configuration's own variables and of the services.
func connections(v *rule.View) (out []connection) {
	dev := v.Composed.Dev()
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		if r.Next || r.Notation != rights.Property {
			continue
		}
		if c, ok := connectionOf(r.Name, r.Value); ok {
			c.Place, c.by = r.Place, dev
			out = append(out, c)
		}
	}
	reading := budget.New(maxEnvFiles)
	for _, s := range append([]*compose.Service{dev}, neighbours(v)...) {
		all := v.Composed.Project.Environment(s, func(file compose.EnvFileName) *jsonc.Document {
			if v.Tree == nil || path.IsAbs(file.Name) || !reading.Spend(perEnvFile) {
				return nil
			}
			doc := v.Readable(path.Join(path.Dir(v.Composed.First), file.Name))
			if doc == nil || !reading.Spend(len(doc.Src)) {
				return nil
			}
			return doc
		})
		for _, variable := range all {
			if c, ok := connectionOf(variable.Name, variable.Value); ok && variable.Set {
				c.Place, c.by = rule.ComposePlace(variable.Node), s
				out = append(out, c)
			}
		}
	}
	return out
}

// servicesByHost are the services by each name by which others find them.
func servicesByHost(project *compose.Project) map[string]*compose.Service {
	out := map[string]*compose.Service{}
	for _, s := range project.Services() {
		out[s.Name] = s
	}
	for _, s := range project.Services() {
		names := []string{s.Get("hostname").String(), s.Get("container_name").String()}
		s.Get("networks").Walk(func(n *compose.Node) {
			for _, alias := range n.Get("aliases").Scalars() {
				names = append(names, alias.Text)
			}
		})
		for _, name := range names {
			out[name] = cmp.Or(out[name], s)
		}
		for _, n := range s.Get("links").Scalars() {
			other, alias, _ := strings.Cut(n.Text, ":")
			out[alias] = cmp.Or(out[alias], project.Service(other))
		}
	}
	delete(out, "")
	return out
}

// maxComposed bounds the values of Compose files that are gone through again and again, for one variable or service after the
// other: all of some 500 values, 2,000 times. A wrong one behind that is not reported.
const maxComposed = 1 << 20

// sizeOf is the number of values in all Compose files.
func sizeOf(v *rule.View) int {
	return rule.Once(v, "values of services", func(v *rule.View) (size int) {
		v.Composed.Project.Root.Walk(func(*compose.Node) { size++ })
		return size
	})
}

// lostConnections reports variables that look for a server where it is not.
func lostConnections(v *rule.View) (out []rule.Finding) {
	dev := v.Composed.Dev()
	others := neighbours(v)
	out = hostUnknown(v)
	if dev == nil {
		return out
	}
	project := v.Composed.Project
	services, names := servicesByHost(project), hostsOf(project)
	whole := project.Incomplete() == "" && len(project.Unread) == 0 && !joinsOthers(project)
	ownServer := hasServer(v)
	comparing := budget.New(maxComposed)
	for _, c := range connections(v) {
		if c.by.Get("network_mode") != nil || !comparing.Spend(sizeOf(v)) {
			continue
		}
		if c.isLocal() {
			if !ownServer || c.by != dev {
				out = append(out, c.local(v, others)...)
			}
			continue
		}
		s := services[c.host]
		switch {
		case s == nil && whole && !slices.Contains(names, c.host):
			out = append(out, c.unknown(names, others)...)
		case s == nil || s == c.by:
		case !isStarted(v, s.Name):
			out = append(out, c.notStarted(v, s)...)
		default:
			if found := slices.Concat(c.otherNetwork(s), c.otherPort(s), c.refused(v, s)); len(found) > 0 {
				out = append(out, found[0])
			}
		}
	}
	joined := slices.ContainsFunc(append(others, dev), func(s *compose.Service) bool { return s.Get("network_mode") != nil })
	forwarded := forwardedDatabases(v, others, comparing)
	if ownServer || joined {
		forwarded = nil
	}
	return slices.Concat(out, forwarded, forwardedOutside(v, comparing))
}

// local is about localhost in the place of a service.
func (c connection) local(v *rule.View, others []*compose.Service) []rule.Finding {
	if c.by.Get("extra_hosts") != nil || slices.ContainsFunc(others, func(s *compose.Service) bool {
		return strings.HasPrefix(s.Get("network_mode").String(), "service:")
	}) {
		return nil
	}
	for _, s := range others {
		known, ok := c.fits(s)
		_, published := portsOf(s)[c.port]
		if !ok || s == c.by || c.port != "" && c.port != known.port && !published {
			continue
		}
		where := "the dev container itself"
		if c.by != v.Composed.Dev() {
			where = "the container of " + c.by.Name + " itself"
		}
		return []rule.Finding{{Place: c.Place, Message: fmt.Sprintf("localhost is %s here, and %s is the service %s", where, known.kind, s.Name),
			Hint: fmt.Sprintf("write %s in the place of localhost", s.Name)}}
	}
	return nil
}

// likeServer matches names that people give to services with a database.
var likeServer = lazyregexp.New(`(?i)^([a-z]+[-_])?(db|database|pg|postgres|postgresql|mysql|mariadb|redis|cache|mongo|mongodb|rabbitmq|` +
	`mssql|sqlserver)([-_][a-z]+|\d)?$`)

// unknown is about the name of no service.
func (c connection) unknown(names []string, others []*compose.Service) []rule.Finding {
	if !bareName.MatchString(c.host) || c.any {
		return nil
	}
	var fitting []*compose.Service
	for _, s := range others {
		if _, ok := c.fits(s); ok {
			fitting = append(fitting, s)
		}
	}
	if len(fitting) != 1 {
		return nil
	}
	hint := fmt.Sprintf("did you mean %q?", fitting[0].Name)
	best := nearest(c.host, names)
	if best != "" && best != fitting[0].Name || best == "" && !likeServer.MatchString(c.host) { // a host of another network
		return nil
	}
	return []rule.Finding{{Place: c.Place, Message: fmt.Sprintf("no service is called %s", c.host), Hint: hint}}
}

// notStarted is about a service that runServices or a profile keeps from starting.
func (c connection) notStarted(v *rule.View, s *compose.Service) []rule.Finding {
	named := v.Root.Member("runServices")
	_, _, _, known := databaseOf(s)
	whose := c.name + " of the dev container"
	if c.by != v.Composed.Dev() {
		whose = c.name + " of " + c.by.Name
	}
	switch message := fmt.Sprintf("the service %s is not started, and %s looks for it", s.Name, whose); {
	case !known:
	case named != nil && len(s.Get("profiles").Scalars()) == 0:
		return []rule.Finding{v.AtValue(named, message, fmt.Sprintf("add %q, or let the dev container's service depend on it", s.Name))}
	case named == nil && len(s.Get("profiles").Scalars()) > 0 && !choosesProfiles(v):
		return []rule.Finding{rule.AtCompose(s.Get("profiles"), message, "leave its profiles out, or name it in runServices")}
	}
	return nil
}

// choosesProfiles reports whether .env switches profiles on.
func choosesProfiles(v *rule.View) bool {
	env := v.Readable(path.Join(path.Dir(v.Composed.First), ".env"))
	return env != nil && strings.Contains(string(env.Src), "COMPOSE_PROFILES")
}

// otherNetwork is about services without a common network.
func (c connection) otherNetwork(s *compose.Service) []rule.Finding {
	ours, theirs := networksOf(c.by), map[string]bool{}
	for _, name := range networksOf(s) {
		theirs[name] = true
	}
	if s.Get("network_mode") != nil || slices.ContainsFunc(ours, func(name string) bool { return theirs[name] }) {
		return nil
	}
	return []rule.Finding{{Place: c.Place,
		Message: fmt.Sprintf("%s finds no %s: the two services have no network in common", c.by.Name, s.Name),
		Hint:    fmt.Sprintf("give %s the network %s as well", s.Name, ours[0])}}
}

// networksOf are the names of a service's networks.
func networksOf(s *compose.Service) (out []string) {
	for _, n := range s.Get("networks").Scalars() {
		out = append(out, n.Text)
	}
	if n := s.Get("networks"); n != nil {
		for _, m := range n.Members {
			out = append(out, m.Name)
		}
	}
	if len(out) == 0 {
		out = []string{"default"}
	}
	return out
}

// portsOf are the ports of the host that a service publishes, with those of the container.
func portsOf(s *compose.Service) map[string]string {
	out := map[string]string{}
	if s.Get("ports") == nil {
		return out
	}
	for _, n := range s.Get("ports").Items {
		host, container := n.Get("published").String(), n.Get("target").String()
		if n.Kind == compose.Scalar {
			text, _, _ := strings.Cut(n.Text, "/")
			parts := strings.Split(text, ":")
			if container = parts[len(parts)-1]; len(parts) > 1 {
				host = parts[len(parts)-2]
			}
		}
		if container != "" {
			out[host] = container
		}
	}
	return out
}

// isOutside reports whether a port is the host's for a port of a service alone; inside is the container's.
func isOutside(s *compose.Service, port string) (inside string, is bool) {
	ports := portsOf(s)
	inside = ports[port]
	isInside := inside == port || slices.Contains(slices.Collect(maps.Values(ports)), port)
	if port == "" || inside == "" || isInside || strings.ContainsAny(inside, "-$") {
		return "", false
	}
	listens := false // it may listen there, too
	for _, key := range []string{"command", "entrypoint", "environment", "expose", "env_file"} {
		s.Get(key).Walk(func(n *compose.Node) { listens = listens || strings.Contains(n.Text, port) || key == "env_file" })
	}
	return inside, !listens
}

// otherPort is about the port of the host in the place of the container's.
func (c connection) otherPort(s *compose.Service) []rule.Finding {
	inside, is := isOutside(s, c.port)
	if !is {
		return nil
	}
	return []rule.Finding{{Place: c.Place,
		Message: fmt.Sprintf("%s is the port of the host: other services find %s at %s", c.port, s.Name, inside),
		Hint:    fmt.Sprintf("write %s:%s", c.host, inside)}}
}

// account is what the image of a database makes from its variables.
var account = map[string]struct{ user, password, name string }{
	"PostgreSQL": {"POSTGRES_USER", "POSTGRES_PASSWORD", "postgres"},
	"MongoDB":    {"MONGO_INITDB_ROOT_USERNAME", "MONGO_INITDB_ROOT_PASSWORD", ""},
	"RabbitMQ":   {"RABBITMQ_DEFAULT_USER", "RABBITMQ_DEFAULT_PASS", "guest"},
}

// refused is about a user or a password that the database does not have.
func (c connection) refused(v *rule.View, s *compose.Service) []rule.Finding {
	known, ok := c.fits(s)
	made, has := account[known.kind]
	asks := ok && has && c.user != "" && c.password != ""
	if !asks || len(s.EnvFiles()) > 0 || mounts(s, "docker-entrypoint-initdb.d") {
		return nil
	}
	set, _, whole := filledVariables(v, s, budget.New(maxEnvFiles))
	user, password := set[made.user], set[made.password]
	literal := func(variable compose.Variable, name string) bool {
		return variable.Name == name && variable.Set && !fromHost(variable)
	}
	isKnown := literal(password, made.password) && (user.Name == "" || literal(user, made.user))
	if !whole || !isKnown || set["POSTGRES_HOST_AUTH_METHOD"].Name != "" {
		return nil
	}
	name := made.name
	if user.Name != "" {
		name = user.Value
	}
	switch {
	case name == "":
	case c.user != name:
		return []rule.Finding{{Place: c.Place, Message: fmt.Sprintf("the service %s makes the user %s, and no %s", s.Name, name, c.user),
			Hint: fmt.Sprintf("write %s here, or %s: %s there", name, made.user, c.user)}}
	case c.password != password.Value:
		return []rule.Finding{{Place: c.Place, Message: fmt.Sprintf("the service %s has another password for %s", s.Name, name),
			Hint: fmt.Sprintf("write the value of %s", made.password)}}
	}
	return nil
}

// mounts reports whether a volume of a service has a word in its place.
func mounts(s *compose.Service, word string) (has bool) {
	s.Get("volumes").Walk(func(n *compose.Node) { has = has || strings.Contains(n.Text, word) })
	return has
}

// isStarted reports whether a service starts with the dev container: all do without runServices, unless a profile keeps them from
// it; otherwise those that runServices names, and those that one of them depends on.
func isStarted(v *rule.View, name string) bool {
	named := v.Root.Member("runServices")
	done := map[string]bool{}
	var start func(string)
	start = func(name string) {
		s := v.Composed.Project.Service(name)
		if s == nil || done[name] {
			return
		}
		done[name] = true
		for _, key := range []string{"depends_on", "links"} {
			for _, n := range s.Get(key).Scalars() {
				service, _, _ := strings.Cut(n.Text, ":")
				start(service)
			}
			if on := s.Get(key); on != nil {
				for _, m := range on.Members {
					start(m.Name)
				}
			}
		}
	}
	for _, n := range rights.Texts(named) {
		start(n.Text)
	}
	start(v.Composed.Dev().Name)
	if s := v.Composed.Project.Service(name); named == nil && s != nil && len(s.Get("profiles").Scalars()) == 0 {
		return true
	}
	return done[name]
}

// forwardedDatabases reports ports of databases that are forwarded from the dev container, while another service has them and
// publishes none itself.
func forwardedDatabases(v *rule.View, others []*compose.Service, comparing *budget.Budget) (out []rule.Finding) {
	for _, n := range forwardPorts(v) {
		if !comparing.Spend(sizeOf(v)) {
			return out
		}
		for _, s := range others {
			known, _, _, ok := databaseOf(s)
			if !ok || n.Kind != jsonc.Number || n.Text != known.port || s.Get("ports") != nil {
				continue
			}
			out = append(out, v.AtValue(n,
				fmt.Sprintf("port %s of the dev container itself is forwarded here, and %s is the service %s", n.Text, known.kind, s.Name),
				fmt.Sprintf("write \"%s:%s\"", s.Name, n.Text)))
			break
		}
	}
	return out
}

func forwardPorts(v *rule.View) []*jsonc.Node {
	if n := v.Root.Member("forwardPorts"); n != nil && n.Kind == jsonc.Array {
		return n.Elements
	}
	return nil
}

// forwardedOutside reports "SERVICE:PORT" with the host's port, where nothing listens.
func forwardedOutside(v *rule.View, comparing *budget.Budget) (out []rule.Finding) {
	for _, n := range forwardPorts(v) {
		name, port, _ := strings.Cut(n.TextOr(""), ":")
		if s := v.Composed.Project.Service(name); s != nil && comparing.Spend(sizeOf(v)) {
			if inside, is := isOutside(s, port); is {
				out = append(out, v.AtValue(n, fmt.Sprintf("%s is the port of the host: %s listens at %s", port, name, inside),
					fmt.Sprintf("write \"%s:%s\"", name, inside)))
			}
		}
	}
	return out
}

// serverPackage matches packages with which the dev container is a server itself.
var serverPackage = lazyregexp.New(`\b(postgresql(-\d+)?|(mysql|mariadb|redis|rabbitmq)-server|mongodb(-org)?|mongod)(\s|;|&|"|$)`)

// hasServer reports whether the dev container may have a database of its own. No official Feature brings one.
func hasServer(v *rule.View) bool {
	for _, m := range v.Root.Member("features").Fields() {
		if !strings.HasPrefix(m.Name, "ghcr.io/devcontainers/features/") {
			return true
		}
	}
	return v.Build != nil && serverPackage.Match(v.Build.File.Doc.Src)
}
