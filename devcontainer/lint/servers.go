package lint

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/devcontainer/baseimage"
	"github.com/org/claude-sandbox/devcontainer/budget"
	"github.com/org/claude-sandbox/devcontainer/compose"
	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// imageOf returns the image of a service that builds nothing, without docker.io/library/; name is "" when it is not known.
func imageOf(s *compose.Service) (name, tag string) {
	image := s.Get("image").String()
	if s.Get("build") != nil || strings.Contains(image, "$") {
		return "", ""
	}
	name, tag, digest := rights.SplitImage(image)
	if digest != "" && (tag == "" || tag[0] > '9') { // it may be an old one
		return "", ""
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "docker.io/"), "library/"), tag
}

// refusingServers reports services of well-known images that end at once.
func refusingServers(v *rule.View) []rule.Finding {
	return slices.Concat(refusingDatabases(v), serversThat(v, false), givenTwice(v))
}

// serversThat reports the rows of serverFacts that are so: those of servers that start anyway, or the others.
func serversThat(v *rule.View, start bool) (out []rule.Finding) {
	reading := budget.New(maxEnvFiles)
	for _, s := range neighbours(v) {
		name, tag := imageOf(s)
		for _, f := range factsOf[name] {
			otherStart := f.command == nil && !f.bare && s.Get("entrypoint") != nil
			if f.warns != start || f.tags != nil && !f.tags.MatchString(tag) || otherStart {
				continue
			}
			set, _, whole := filledVariables(v, s, reading)
			if at := f.place(v, s, set, whole); at.Doc != nil {
				finding := rule.Finding{Place: at, Message: fmt.Sprintf(f.message, s.Name), Hint: f.hint}
				if f.heard {
					finding.Severity = diag.SeverityWarning
				}
				out = append(out, finding)
				break
			}
		}
	}
	return out
}

// place is where a row is so of a service; its Doc is nil when it is not.
func (f serverFact) place(v *rule.View, s *compose.Service, set map[string]compose.Variable, whole bool) (at rights.Place) {
	at = rights.Place{Doc: s.Doc, Start: s.Start, End: s.End}
	has := func(name string) bool { return set[name].Name != "" }
	if f.lacks != "" && (!whole || slices.ContainsFunc(strings.Fields(f.lacks), has)) {
		return rights.Place{}
	}
	command := s.Get("command")
	switch text := strings.Join(command.Words(), " "); {
	case f.bare && (command != nil || s.Get("entrypoint") != nil), f.without != "" && f.elsewhere(v, s),
		f.command != nil && !f.command(text):
		return rights.Place{}
	case f.command != nil && f.set == "":
		at = rule.ComposePlace(command)
	}
	for _, name := range strings.Fields(f.set) {
		variable := set[strings.TrimSuffix(name, "_FILE")]
		if variable.Name == name && (f.value == nil || variable.Set && !fromHost(variable) && f.value(variable.Value)) {
			return rule.ComposePlace(variable.Node)
		}
	}
	if f.set != "" {
		return rights.Place{}
	}
	return at
}

// elsewhere reports whether a volume of the service, or another service, has what the row goes without.
func (f serverFact) elsewhere(v *rule.View, s *compose.Service) bool {
	return mounts(s, f.without) || v.Composed.Project.Service(f.without) != nil
}

// dataFolders are where servers keep their files.
var dataFolders = map[string]string{"postgres": "/var/lib/postgresql/data", "postgis/postgis": "/var/lib/postgresql/data",
	"pgvector/pgvector": "/var/lib/postgresql/data", "mysql": "/var/lib/mysql", "mariadb": "/var/lib/mysql", "mongo": "/data/db",
	"redis": "/data", "valkey/valkey": "/data", "rabbitmq": "/var/lib/rabbitmq",
	"docker.elastic.co/elasticsearch/elasticsearch": "/usr/share/elasticsearch/data", "elasticsearch": "/usr/share/elasticsearch/data"}

// likeData matches places in a container where somebody expects a server's files.
var likeData = lazyregexp.New(`^(/var/(lib|opt)/|/data\b|/.*/data\b|/bitnami)`)

// misplacedData reports a server's volume that is not where the server keeps its files: they are lost with the container.
func misplacedData(v *rule.View) (out []rule.Finding) {
	reading := budget.New(maxEnvFiles)
	for _, s := range neighbours(v) {
		name, tag := imageOf(s)
		folder := dataFolders[name]
		if folder == "" || s.Get("volumes") == nil || s.Get("command").String() != "" && !strings.HasPrefix(s.Get("command").String(), name) {
			continue
		}
		if set, _, whole := filledVariables(v, s, reading); !whole || set["PGDATA"].Name != "" {
			continue
		}
		if since18.MatchString(tag) && strings.HasPrefix(folder, "/var/lib/postgresql") {
			folder = "/var/lib/postgresql"
		}
		var misplaced *compose.Node
		right := false
		for _, n := range s.Get("volumes").Items {
			m := volumeOf(n)
			target := path.Clean(m.target)
			above := strings.HasPrefix(folder, target+"/") && !strings.HasPrefix(folder, "/var/lib/postgresql/")
			right = right || target == folder || target == "/var/lib/postgresql/data" || strings.Contains(m.target, "$") || above
			if m.named && likeData.MatchString(target) && misplaced == nil {
				misplaced = n
			}
			if strings.HasPrefix(target, "/docker-entrypoint") && !strings.HasPrefix(target, "/docker-entrypoint-initdb.d") {
				out = append(out, rule.AtCompose(n, fmt.Sprintf("the image reads no folder %s", target), "mount it at /docker-entrypoint-initdb.d"))
			}
			declared := v.Composed.Project.Root.Get("volumes").Get(m.source)
			if m.named && target == "/docker-entrypoint-initdb.d" && declared != nil && declared.Kind != compose.Map {
				out = append(out, rule.AtCompose(n, fmt.Sprintf("%s is a volume, which begins empty: the server runs no script of it", m.source),
					fmt.Sprintf("mount a folder: ./%s:%s", m.source, target)))
			}
		}
		if misplaced != nil && !right {
			out = append(out, rule.AtCompose(misplaced, fmt.Sprintf("%s keeps its files in %s, so they are lost with the container", name, folder),
				fmt.Sprintf("mount the volume at %s", folder)))
		}
	}
	return out
}

// serviceVolume is a volume of a service as far as its place goes.
type serviceVolume struct {
	source, target string
	named          bool // it is a volume with a name
}

func volumeOf(n *compose.Node) (m serviceVolume) {
	if n.Kind == compose.Scalar {
		if parts := compose.SplitVolume(n.Text); len(parts) > 1 {
			m.source, m.target = parts[0], parts[1]
		} else {
			m.target = n.Text
		}
		m.named = m.source != "" && !strings.ContainsAny(m.source[:1], `./~$`) && !strings.Contains(m.source, `\`)
		return m
	}
	m.source, m.target = n.Get("source").String(), n.Get("target").String()
	m.named = n.Get("type").String() == "volume" && m.source != ""
	return m
}

// withoutPrograms are programs that people's health checks call and that images of servers do not have.
var withoutPrograms = []struct {
	images   []string
	tags     *lazyregexp.Regexp
	programs string
	hint     string
}{
	{keycloaks, quarkus, "curl wget", "the image has bash: exec 3<>/dev/tcp/127.0.0.1/9000 and a request for /health/ready"},
	{mssql[:1], lazyregexp.New(`^(2022|2025)-latest`), "/opt/mssql-tools/bin/sqlcmd", "write /opt/mssql-tools18/bin/sqlcmd -C"},
	{[]string{"mongo"}, lazyregexp.New(`^([6-9]|1\d|latest|)([.-]|$)`), "mongo", "write mongosh"},
	{[]string{"mongo"}, nil, "curl wget", `write ["CMD", "mongosh", "--eval", "db.adminCommand('ping')"]`},
	{[]string{"mariadb"}, lazyregexp.New(`^(1[1-9]|latest|lts|)([.-]|$)`), "mysqladmin mysql mysqldump", "write healthcheck.sh --connect"},
	{[]string{"postgres", "mysql", "mariadb", "redis", "pgvector/pgvector", "postgis/postgis", "valkey/valkey"}, nil, "curl",
		"ask the server with its own client"},
	{[]string{"qdrant/qdrant"}, nil, "curl wget", "the image has bash: bash -c ':> /dev/tcp/127.0.0.1/6333'"},
	{[]string{"ollama/ollama"}, nil, "curl wget", `write ["CMD", "ollama", "list"]`},
	{[]string{"traefik", "prom/prometheus", "axllent/mailpit", "mailhog/mailhog"}, nil, "curl", "write wget --spider -q"},
}

// healthWithout reports a health check with a program that the image of its service does not have.
func healthWithout(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() {
		return nil
	}
	waits := waitsForHealth(v)
	for _, s := range v.Composed.Project.Services() {
		test := s.Get("healthcheck").Get("test")
		name, tag := imageOf(s)
		program := programOfTest(test)
		if program == "" || name == "" {
			continue
		}
		hint, found := "ask the server with a program that its image has", false
		if image, ok := baseimage.Of(s.Get("image").String()); ok {
			found = !strings.Contains(program, "/") && image.Lacks(program)
		}
		for _, w := range withoutPrograms {
			of := slices.Contains(w.images, name) && (w.tags == nil || w.tags.MatchString(tag))
			if of && slices.Contains(strings.Fields(w.programs), program) {
				hint, found = w.hint, true
				break
			}
		}
		if !found {
			continue
		}
		f := rule.AtCompose(test, fmt.Sprintf("the image of %s has no %s, so the service is never healthy", s.Name, program), hint)
		if other := waits[s.Name]; other != "" {
			if !strings.Contains(name, "/") { // one of Docker's official images
				f.Severity = diag.SeverityError
			}
			f.Message += fmt.Sprintf(", and %s waits for that", other)
		}
		out = append(out, f)
	}
	return out
}

// waitsForHealth are the names of services that others wait for until they are healthy, each with the first that does.
func waitsForHealth(v *rule.View) map[string]string {
	out := map[string]string{}
	for _, other := range v.Composed.Project.Services() {
		on := other.Get("depends_on")
		if on == nil {
			continue
		}
		for _, m := range on.Members {
			if out[m.Name] == "" && m.Value.Get("condition").String() == "service_healthy" {
				out[m.Name] = other.Name
			}
		}
	}
	return out
}

// programOfTest is the program that a health check begins with; "" when that is not clear.
func programOfTest(test *compose.Node) string {
	words := test.Words()
	switch {
	case len(words) == 0:
		return ""
	case test.Kind == compose.Scalar:
	case words[0] == "CMD":
		words = words[1:]
	case words[0] == "CMD-SHELL" && len(words) == 2:
		words = strings.Fields(words[1])
	default:
		return ""
	}
	if len(words) == 0 || strings.ContainsAny(words[0], `$"'=`) || slices.Contains(words, "||") && slices.Contains(words, "wget") &&
		slices.Contains(words, "curl") {
		return ""
	}
	return words[0]
}

// misusedServers reports services that start and are not what was meant.
func misusedServers(v *rule.View) []rule.Finding {
	return slices.Concat(serversThat(v, true), misplacedData(v), healthWithout(v), endlessServers(v), advertisedElsewhere(v),
		secretsElsewhere(v), unheardServers(v), externalOfNobody(v), readOnlyService(v))
}

// endlessServers reports a wait for the end of a server, which does not end.
func endlessServers(v *rule.View) (out []rule.Finding) {
	if v.Composed == nil || !v.ByCompose() {
		return nil
	}
	for _, s := range v.Composed.Project.Services() {
		on := s.Get("depends_on")
		if on == nil {
			continue
		}
		for _, m := range on.Members {
			n := m.Value.Get("condition")
			other := v.Composed.Project.Service(m.Name)
			if n.String() != "service_completed_successfully" || other == nil || other.Get("command") != nil || other.Get("entrypoint") != nil {
				continue
			}
			if known, _, _, ok := databaseOf(other); ok {
				f := rule.AtCompose(n, fmt.Sprintf("%s waits for the end of %s, and %s does not end", s.Name, m.Name, known.kind),
					"write service_healthy and give the service a healthcheck, or service_started")
				f.Severity = diag.SeverityError
				out = append(out, f)
			}
		}
	}
	return out
}

// secretsElsewhere reports variables that name the file of a secret which their service does not have.
func secretsElsewhere(v *rule.View) (out []rule.Finding) {
	for _, s := range neighbours(v) {
		has := map[string]bool{}
		for _, n := range s.Get("secrets").Scalars() {
			has[n.Text] = true
		}
		whole := len(s.EnvFiles()) == 0 && !mounts(s, "/run/secrets")
		s.Get("secrets").Walk(func(n *compose.Node) {
			name := n.Get("target").String()
			if name == "" {
				name = n.Get("source").String()
			}
			has[path.Base(name)] = true
		})
		for _, variable := range s.Get("environment").Variables() {
			name, is := strings.CutPrefix(variable.Value, "/run/secrets/")
			if whole && is && strings.HasSuffix(variable.Name, "_FILE") && !has[name] && !strings.ContainsAny(name, "$/") {
				out = append(out, rule.AtCompose(variable.Node, fmt.Sprintf("the service %s has no secret %s", s.Name, name),
					fmt.Sprintf("add - %s to its secrets", name)))
			}
		}
	}
	return out
}

// listener matches an address that Kafka tells its clients.
var listener = lazyregexp.New(`\w+://([\w.-]*):(\d+)`)

// advertisedElsewhere reports a broker that tells all its clients to look for it on their own machine.
func advertisedElsewhere(v *rule.View) (out []rule.Finding) {
	reading, comparing := budget.New(maxEnvFiles), budget.New(maxComposed)
	for _, s := range neighbours(v) {
		name, _ := imageOf(s)
		if !strings.Contains(name, "kafka") || s.Get("network_mode") != nil {
			continue
		}
		set, _, _ := filledVariables(v, s, reading)
		at := set["KAFKA_ADVERTISED_LISTENERS"]
		if at.Name == "" {
			at = set["KAFKA_CFG_ADVERTISED_LISTENERS"]
		}
		all := listener.FindAllStringSubmatch(at.Value, -1)
		if at.Name == "" || len(all) == 0 || slices.ContainsFunc(all, func(m []string) bool {
			return m[1] != "localhost" && m[1] != "127.0.0.1"
		}) || !comparing.Spend(sizeOf(v)) || !isNamed(v, s.Name) {
			continue
		}
		out = append(out, rule.AtCompose(at.Node,
			fmt.Sprintf("%s tells its clients to look for it at localhost, which is their own container", s.Name),
			fmt.Sprintf("write %s in the place of localhost, or add a second listener for the host", s.Name)))
	}
	return out
}

// isNamed reports whether a variable of another service, or of the configuration, names a service with a port.
func isNamed(v *rule.View, name string) (named bool) {
	look := func(value string) { named = named || strings.Contains(","+value, name+":") }
	for _, r := range v.Of(rights.Env, rights.SessionEnv) {
		look(r.Value)
	}
	for _, s := range v.Composed.Project.Services() {
		if s.Name == name {
			continue
		}
		for _, variable := range s.Get("environment").Variables() {
			look(variable.Value)
		}
	}
	return named
}

// withFileForm are images whose entrypoint has the function file_env, and the beginnings of the variables that it asks for (those of
// docker-library and MariaDB, 2026).
var withFileForm = map[string]string{"postgres": "POSTGRES_", "postgis/postgis": "POSTGRES_", "pgvector/pgvector": "POSTGRES_",
	"mysql": "MYSQL_", "mariadb": "M", "mongo": "MONGO_INITDB_"}

// givenTwice reports a variable of a database that is given as a text and as a file.
func givenTwice(v *rule.View) (out []rule.Finding) {
	for _, s := range neighbours(v) {
		name, _ := imageOf(s)
		begins := withFileForm[name]
		if begins == "" || s.Get("entrypoint") != nil || s.Get("command") != nil {
			continue
		}
		set := map[string]bool{}
		all := s.Get("environment").Variables()
		for _, variable := range all {
			set[variable.Name] = variable.Set && variable.Value != ""
		}
		for _, variable := range all {
			plain, isFile := strings.CutSuffix(variable.Name, "_FILE")
			if isFile && set[plain] && set[variable.Name] && strings.HasPrefix(plain, begins) {
				out = append(out, rule.AtCompose(variable.Node, fmt.Sprintf("the image refuses both %s and %s, so the service %s ends at once", plain,
					variable.Name, s.Name), "keep one of the two"))
				break
			}
		}
	}
	return out
}

// readOnlyService reports a dev container's service with read_only: the editor installs its server among those files.
func readOnlyService(v *rule.View) []rule.Finding {
	dev := v.Composed.Dev()
	if dev == nil || !v.ByCompose() {
		return nil
	}
	n := dev.Get("read_only")
	if !n.True() || dev.Get("tmpfs") != nil || slices.ContainsFunc(v.ServiceMounts(), func(r rights.Right) bool {
		return strings.HasPrefix(r.Mount.Target, "/home") || strings.HasPrefix(r.Mount.Target, "/root")
	}) {
		return nil
	}
	return []rule.Finding{rule.AtCompose(n, "editors install their server in the container's home, which cannot be written",
		"leave read_only out, or mount a volume at the user's home and tmpfs at /tmp")}
}
