package lint

import (
	"cmp"
	"fmt"
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

// database is what is known of an image of a database server. The entrypoints are those of docker-library/postgres (2026-02-26),
// docker-library/mysql (2026-06-16), MariaDB/mariadb-docker (2026-05-29) and docker-library/mongo (2026-06-11). They were run without
// and with the variables of each row: those of PostgreSQL 17 and 18 with Debian's server, with and without a volume at the old
// place, those of MySQL 8.4, MariaDB 11.8 and MongoDB 8.2 with a stand-in for the server, which each starts or refuses to start.
// TestDatabaseEntrypoints repeats those of PostgreSQL and MySQL.
type database struct {
	kind     string             // one for all images that clients reach in the same way
	programs []string           // with which the command begins when the entrypoint makes a new database
	port     string             // that it listens on
	tags     *lazyregexp.Regexp // of the images whose entrypoint asks for password
	password []string           // of these variables one is set, as a text or, with _FILE, as a file; empty = the image asks for none
	write    string             // what to write into environment
}

var (
	anyTag = lazyregexp.New(``)
	// postgresTag matches releases since 13, and names that move: the older ones were last built before the entrypoint asked.
	postgresTag = lazyregexp.New(`^(pg)?(9\.[56]|1[012]|(1[3-9]|[2-9]\d)(\.\d+)?|latest|alpine|bookworm|trixie|bullseye)?(-|$)`)
	databases   = map[string]database{
		"postgres":          {"PostgreSQL", []string{"postgres"}, "5432", postgresTag, postgresPassword, "POSTGRES_PASSWORD: postgres"},
		"postgis/postgis":   {"PostgreSQL", []string{"postgres"}, "5432", postgresTag, postgresPassword, "POSTGRES_PASSWORD: postgres"},
		"pgvector/pgvector": {"PostgreSQL", []string{"postgres"}, "5432", postgresTag, postgresPassword, "POSTGRES_PASSWORD: postgres"},
		"mysql":             {"MySQL", []string{"mysqld"}, "3306", anyTag, mysqlPassword, "MYSQL_ROOT_PASSWORD: mysql"},
		"mariadb":           {"MySQL", []string{"mariadbd", "mysqld"}, "3306", anyTag, mariaPassword, "MARIADB_ROOT_PASSWORD: mariadb"},
		"redis":             {kind: "Redis", port: "6379"},
		"valkey/valkey":     {kind: "Redis", port: "6379"},
		"mongo":             {kind: "MongoDB", programs: []string{"mongod"}, port: "27017"},
		"rabbitmq":          {kind: "RabbitMQ", port: "5672"},

		"mcr.microsoft.com/mssql/server":   {kind: "SQL Server", port: "1433"},
		"mcr.microsoft.com/azure-sql-edge": {kind: "SQL Server", port: "1433"},
	}
	postgresPassword = []string{"POSTGRES_PASSWORD", "POSTGRES_HOST_AUTH_METHOD"}
	mysqlPassword    = []string{"MYSQL_ROOT_PASSWORD", "MYSQL_ALLOW_EMPTY_PASSWORD", "MYSQL_RANDOM_ROOT_PASSWORD"}
	mariaPassword    = append([]string{"MARIADB_ROOT_PASSWORD", "MARIADB_ROOT_PASSWORD_HASH", "MARIADB_ALLOW_EMPTY_ROOT_PASSWORD",
		"MARIADB_RANDOM_ROOT_PASSWORD", "MARIADB_MASTER_HOST"}, mysqlPassword...)
)

// databaseOf returns what is known of the database that a service of Compose is, and the tag of its image.
func databaseOf(s *compose.Service) (known database, name, tag string, ok bool) {
	name, tag = imageOf(s)
	known, ok = databases[name]
	return known, name, tag, ok
}

// neighbours are the services that start with the dev container, without itself; nothing when a part of them is not known.
func neighbours(v *rule.View) (out []*compose.Service) {
	dev := v.Composed.Dev()
	if dev == nil || !v.ByCompose() || v.LacksCompose() || v.Composed.Project.Incomplete() != "" {
		return nil
	}
	named, runs := v.Root.Member("runServices"), map[string]bool{}
	for _, n := range rights.Texts(named) {
		runs[n.Text] = true
	}
	for _, s := range v.Composed.Project.Services() {
		if (named == nil || runs[s.Name]) && s.Name != dev.Name && s.Get("profiles") == nil {
			out = append(out, s)
		}
	}
	return out
}

// Reading the env_files of a dev container's databases costs at most maxEnvFiles: a file's bytes and perEnvFile each time.
const (
	maxEnvFiles = 1 << 20
	perEnvFile  = 1 << 10
)

// refusingDatabases reports services whose entrypoint refuses to make a database, so that they end at once.
func refusingDatabases(v *rule.View) (out []rule.Finding) {
	reading := budget.New(maxEnvFiles)
	for _, s := range neighbours(v) {
		known, name, tag, ok := databaseOf(s)
		command := s.Get("command").Words()
		others := len(command) > 0 && !strings.HasPrefix(command[0], "-") && !slices.Contains(known.programs, command[0])
		if !ok || others || s.Get("entrypoint") != nil {
			continue
		}
		set, blank, whole := filledVariables(v, s, reading)
		if !whole {
			continue
		}
		has := func(name string) bool {
			variable, has := set[name]
			if name == "POSTGRES_HOST_AUTH_METHOD" { // any other method asks for a password
				has = has && (variable.Value == "trust" || variable.Value == "" || strings.Contains(variable.Value, "$"))
			}
			return has
		}
		asks := known.password != nil && known.tags.MatchString(tag) && !slices.ContainsFunc(known.password, has)
		user, password := set["MONGO_INITDB_ROOT_USERNAME"], set["MONGO_INITDB_ROOT_PASSWORD"]
		switch {
		case asks && !mayHaveData(v, s, name) && blank[known.password[0]] != nil:
			out = append(out, rule.AtCompose(blank[known.password[0]],
				fmt.Sprintf("%s makes no database with an empty %s, so the service %s ends at once", name, known.password[0], s.Name),
				"write a value here; one that must stay out of the repository comes in a file that initializeCommand makes"))
		case asks && !mayHaveData(v, s, name):
			out = append(out, rule.Finding{Place: rights.Place{Doc: s.Doc, Start: s.Start, End: s.End},
				Message: fmt.Sprintf("%s makes no database without a password, so the service %s ends at once", name, s.Name),
				Hint:    fmt.Sprintf("add to its environment %s", known.write)})
		case name == "mysql" && set["MYSQL_USER"].Value == "root" && movingTag.MatchString(tag):
			out = append(out, rule.AtCompose(cmp.Or(set["MYSQL_USER"].Node, s.Get("env_file")),
				fmt.Sprintf("mysql refuses MYSQL_USER=root, so the service %s ends at once", s.Name),
				"leave it out: MYSQL_ROOT_PASSWORD is for root, who is there anyway"))
		case name == "mongo" && (user.Name != "") != (password.Name != ""):
			out = append(out, rule.AtCompose(cmp.Or(user.Node, password.Node, s.Get("env_file")),
				fmt.Sprintf("mongo wants the name and the password of root, so the service %s ends at once", s.Name),
				"set both MONGO_INITDB_ROOT_USERNAME and MONGO_INITDB_ROOT_PASSWORD, or neither"))
		}
		if name == "postgres" && since18.MatchString(tag) && !has("PGDATA") {
			out = append(out, mountAtOldPlace(s)...)
		}
	}
	return out
}

// filledVariables returns the variables of a service that are not empty, which the entrypoints take like those that are
// not there, by name without _FILE, and the places of the empty ones; whole is false when they come from a file that cannot
// be read, that initializeCommand may fill in, or of which nothing more is read.
func filledVariables(v *rule.View, s *compose.Service, reading *budget.Budget) (set map[string]compose.Variable,
	blank map[string]*compose.Node, whole bool) {
	whole, blank = true, map[string]*compose.Node{}
	all := v.Composed.Project.Environment(s, func(file compose.EnvFileName) (doc *jsonc.Document) {
		if v.Tree != nil && !path.IsAbs(file.Name) && !madeOnHost(v, file.Name) && reading.Spend(perEnvFile) {
			doc = v.Readable(path.Join(path.Dir(v.Composed.First), file.Name))
		}
		if doc != nil && !reading.Spend(len(doc.Src)) {
			doc = nil
		}
		whole = whole && doc != nil
		return doc
	})
	set = map[string]compose.Variable{}
	for _, variable := range all {
		if !variable.Set || variable.Value != "" || fromHost(variable) {
			set[strings.TrimSuffix(variable.Name, "_FILE")] = variable
		} else {
			blank[variable.Name] = variable.Node
		}
	}
	return set, blank, whole
}

// fromHost reports whether a variable's value depends on the host's, or on those of .env.
func fromHost(variable compose.Variable) bool {
	return strings.Contains(string(variable.Node.Doc.Src[variable.Node.Start:variable.Node.End]), "$")
}

// mayHaveData reports whether a service may find a database, or a backup from which MariaDB makes one: then it needs no password.
func mayHaveData(v *rule.View, s *compose.Service, name string) (may bool) {
	may = rule.Once(v, "volumes of others", func(v *rule.View) (external bool) {
		v.Composed.Project.Root.Get("volumes").Walk(func(n *compose.Node) { external = external || n.Get("external") != nil })
		return external
	})
	s.Get("volumes").Walk(func(n *compose.Node) {
		fromHost := n.Text != "" && strings.ContainsRune("/~$", rune(n.Text[0])) && !strings.HasPrefix(n.Text, "/var/lib/")
		may = may || fromHost || name == "mariadb" && strings.Contains(n.Text, "/docker-entrypoint-initdb.d")
	})
	return may
}

var (
	// since18 matches the tags of PostgreSQL 18 and of what was the newest in November 2026.
	since18 = lazyregexp.New(`^((1[89]|[2-9]\d)(\.\d+)?|latest|alpine|bookworm|trixie)?(-|$)`)
	// movingTag matches tags that stand for more than one release: the newest of each refuses root.
	movingTag = lazyregexp.New(`^(\d+(\.\d+)?|latest|lts|innovation|oracle)?(-\D.*)?$`)
)

// mountAtOldPlace reports a volume where PostgreSQL kept its files up to 17: since 18 the entrypoint refuses it.
func mountAtOldPlace(s *compose.Service) (out []rule.Finding) {
	const old = "/var/lib/postgresql/data"
	if s.Get("volumes") == nil {
		return nil
	}
	for _, n := range s.Get("volumes").Items {
		target, at := n.Get("target").String(), n
		if n.Kind == compose.Scalar {
			if parts := compose.SplitVolume(n.Text); len(parts) > 1 {
				target = parts[1]
			}
		} else {
			at = n.Get("target")
		}
		if strings.TrimSuffix(target, "/") == old {
			out = append(out, rule.AtCompose(at,
				fmt.Sprintf("postgres since 18 refuses a volume at %s, so the service %s ends at once", old, s.Name),
				"mount it at /var/lib/postgresql"))
		}
	}
	return out
}
