package lint

import (
	"strings"
	"unicode"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// serverFact is a way in which a service of an image fails or is not what was meant (November 2026, from the images'
// entrypoints and sources: minio's internal/auth/credentials.go, Keycloak's KeycloakMain.java, pgadmin's pkg/docker/entrypoint.sh,
// Elasticsearch's BootstrapChecks.java, cp-kafka's configure, the docker-entrypoint.sh of rabbitmq and of mongo-express). A row
// holds when all of its fields do.
type serverFact struct {
	images  []string           // names without docker.io/library/
	tags    *lazyregexp.Regexp // nil = any
	set     string             // words of variables, of which one is set: the finding stands at it
	value   func(string) bool  // its value; nil = any
	lacks   string             // words of variables, of which none is set
	command func(string) bool  // the command, "" for none; nil = any
	bare    bool               // there is neither a command nor an entrypoint
	without string             // no volume is mounted at a place with this in it, and no service has this name
	warns   bool               // it starts
	heard   bool               // from manuals and issues alone, not from the program or its source
	message string             // what is so, of the service %s
	hint    string
}

var (
	minio     = []string{"minio/minio", "quay.io/minio/minio"}
	keycloaks = []string{"quay.io/keycloak/keycloak", "keycloak/keycloak"}
	elastics  = []string{"elasticsearch", "docker.elastic.co/elasticsearch/elasticsearch", "elastic/elasticsearch"}
	mssql     = []string{"mcr.microsoft.com/mssql/server", "mcr.microsoft.com/azure-sql-edge"}
	pgadmin   = []string{"dpage/pgadmin4"}
	// quarkus are Keycloak's tags since 17, which is another program than the one before.
	quarkus  = lazyregexp.New(`^(1[7-9]|[2-9]\d|latest|nightly|)(\.|$)`)
	elastic7 = lazyregexp.New(`^7\.`)
	elastic8 = lazyregexp.New(`^[89]\.`)
	// since84 are the tags of MySQL 8.4 and later.
	since84     = lazyregexp.New(`^(8\.[4-9](\.\d+)?|8|9(\.\d+)*|latest|lts|innovation|oracle|)(-|$)`)
	discovered  = "discovery.type discovery.seed_hosts cluster.initial_master_nodes network.host transport.host ES_SETTING_DISCOVERY_TYPE"
	rabbitGone  = lazyregexp.New(`^(3\.(9|1\d)|[4-9]|latest|management|alpine|)([.-]|$)`)
	serverFacts = []serverFact{
		{images: minio, bare: true, message: "minio starts no server without a command, so the service %s ends at once",
			hint: "add command: server /data"},
		{images: minio, set: "MINIO_ROOT_PASSWORD", value: like(`^.{1,7}$`),
			message: "minio wants a password of 8 characters or more, so the service %s ends at once", hint: "write a longer one"},
		{images: minio, set: "MINIO_ROOT_USER", value: like(`^.{1,2}$`),
			message: "minio wants a user's name of 3 characters or more, so the service %s ends at once", hint: "write a longer one"},
		{images: keycloaks, tags: quarkus, bare: true,
			message: "keycloak prints its help without a command, so the service %s ends at once", hint: "add command: start-dev"},
		{images: keycloaks, tags: quarkus, set: "KEYCLOAK_USER KEYCLOAK_PASSWORD DB_VENDOR DB_ADDR", warns: true,
			message: "keycloak reads no such variable since 17, so the service %s goes without it",
			hint:    "write KC_BOOTSTRAP_ADMIN_USERNAME and KC_BOOTSTRAP_ADMIN_PASSWORD (KEYCLOAK_ADMIN before 26), KC_DB and KC_DB_URL"},
		{images: []string{"mysql"}, tags: since84, heard: true, command: like(`--default[-_]authentication[-_]plugin`),
			message: "mysql since 8.4 knows no default-authentication-plugin, so the service %s ends at once",
			hint:    "write --mysql-native-password=ON (only in 8.4), or take the image mysql:8.0"},
		{images: mssql, heard: true, lacks: "ACCEPT_EULA", message: "SQL Server wants ACCEPT_EULA, so the service %s ends at once",
			hint: `add to its environment ACCEPT_EULA: "Y"`},
		{images: mssql, heard: true, set: "ACCEPT_EULA", value: like(`^(?i:n|no|false|0)$`),
			message: "SQL Server wants ACCEPT_EULA, so the service %s ends at once",
			hint:    `write "Y"`},
		{images: mssql, heard: true, lacks: "MSSQL_SA_PASSWORD SA_PASSWORD", without: "/var/opt/mssql",
			message: "SQL Server makes no database without a password, so the service %s ends at once",
			hint:    "add to its environment MSSQL_SA_PASSWORD"},
		{images: mssql, heard: true, set: "MSSQL_SA_PASSWORD SA_PASSWORD", value: isWeak,
			message: "SQL Server refuses the password as too weak, so the service %s ends at once",
			hint:    "write 8 characters or more, of three of these kinds: capitals, small letters, digits, signs"},
		{images: pgadmin, lacks: "PGADMIN_DEFAULT_EMAIL", without: "/var/lib/pgadmin",
			message: "pgadmin wants PGADMIN_DEFAULT_EMAIL, so the service %s ends at once", hint: "add it to its environment"},
		{images: pgadmin, lacks: "PGADMIN_DEFAULT_PASSWORD", without: "/var/lib/pgadmin",
			message: "pgadmin wants PGADMIN_DEFAULT_PASSWORD, so the service %s ends at once", hint: "add it to its environment"},
		{images: pgadmin, tags: lazyregexp.New(`^(([7-9]|\d\d)(\.\d+)?|latest|)$`), set: "PGADMIN_DEFAULT_EMAIL",
			value: like(`^[^@]*$|@[^.]*$|\.(local|localhost|invalid)$`),
			lacks: "PGADMIN_CONFIG_ALLOW_SPECIAL_EMAIL_DOMAINS", without: "config_",
			message: "pgadmin refuses this address, so the service %s ends at once", hint: "write one such as admin@example.com"},
		{images: elastics, tags: elastic7, lacks: discovered, without: "elasticsearch.yml",
			message: "elasticsearch finds no cluster, so the service %s ends at once", hint: "add to its environment discovery.type: single-node"},
		{images: elastics, tags: elastic8, set: "xpack.security.enabled", value: like(`^false$`), lacks: discovered,
			without: "elasticsearch.yml", message: "elasticsearch without its security finds no cluster, so the service %s ends at once",
			hint: "add to its environment discovery.type: single-node"},
		{images: []string{"confluentinc/cp-kafka"}, tags: lazyregexp.New(`^[567]\.`), lacks: "KAFKA_ZOOKEEPER_CONNECT KAFKA_PROCESS_ROLES",
			message: "cp-kafka wants KAFKA_ZOOKEEPER_CONNECT or KAFKA_PROCESS_ROLES, so the service %s ends at once",
			hint:    "add the settings of one of the two to its environment"},
		{images: []string{"rabbitmq"}, tags: rabbitGone, value: like(`.`),
			set: "RABBITMQ_VM_MEMORY_HIGH_WATERMARK RABBITMQ_DEFAULT_USER_FILE RABBITMQ_DEFAULT_PASS_FILE RABBITMQ_SSL_CERTFILE " +
				"RABBITMQ_SSL_KEYFILE",
			message: "rabbitmq refuses this variable since 3.9, so the service %s ends at once", hint: "write it into a rabbitmq.conf"},
		{images: []string{"redis", "valkey/valkey"}, set: "REDIS_PASSWORD REDIS_USERNAME", warns: true,
			command: isPlainRedis, message: "redis reads no variables, so the service %s has no password",
			hint: "write command: redis-server --requirepass …"},
		{images: []string{"mongo-express"}, lacks: "ME_CONFIG_MONGODB_URL ME_CONFIG_MONGODB_SERVER", without: "mongo",
			message: "mongo-express looks for a service mongo, so the service %s ends at once",
			hint:    "add to its environment ME_CONFIG_MONGODB_URL: mongodb://SERVICE:27017/"},
	}
	// factsOf are the rows by the image's name.
	factsOf = func() map[string][]serverFact {
		out := map[string][]serverFact{}
		for _, f := range serverFacts {
			for _, name := range f.images {
				out[name] = append(out[name], f)
			}
		}
		return out
	}()
)

// like reports whether a text matches.
func like(pattern string) func(string) bool { return lazyregexp.New(pattern).MatchString }

// isWeak reports whether SQL Server refuses a password: it wants 8 characters of three kinds.
func isWeak(password string) bool {
	kinds := map[string]bool{}
	for _, c := range password {
		switch {
		case unicode.IsUpper(c):
			kinds["capital"] = true
		case unicode.IsLower(c):
			kinds["small"] = true
		case unicode.IsDigit(c):
			kinds["digit"] = true
		default:
			kinds["sign"] = true
		}
	}
	return len(kinds) < 3 || len(password) < 8
}

// isPlainRedis reports whether a command of Redis gives it no password.
func isPlainRedis(command string) bool {
	return !strings.Contains(command, "pass") && !strings.Contains(command, "$") && !strings.Contains(command, ".conf")
}
