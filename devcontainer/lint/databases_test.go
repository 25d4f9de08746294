package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A database that does not start, and one that is looked for in the wrong container. app is the dev container's service.
func TestDatabases(t *testing.T) {
	for name, c := range map[string]struct{ app, others, want string }{
		"PostgreSQL without a password": {"", db + "postgres:16\n    environment:\n      POSTGRES_USER: app\n", "SBX331 db:"},
		"PostGIS without a password":    {"", db + "postgis/postgis:16-3.4\n", "SBX331 db:"},
		"pgvector without a password":   {"", db + "docker.io/pgvector/pgvector:pg17\n", "SBX331 db:"},
		"options of the server":         {"", db + "postgres:16\n    command: -c fsync=off\n", "SBX331 db:"},
		"server by its name":            {"", db + "postgres:16\n    command: postgres -c fsync=off\n", "SBX331 db:"},
		"MySQL without a password":      {"", db + "mysql:8.4\n    environment:\n      - MYSQL_DATABASE=app\n", "SBX331 db:"},
		"MariaDB without a password":    {"", db + "mariadb\n    environment: {MARIADB_USER: app, MARIADB_PASSWORD: app}\n", "SBX331 db:"},
		"root of MySQL twice": {"", db + "mysql:8\n    environment: {MYSQL_ROOT_PASSWORD: a, MYSQL_USER: root, MYSQL_PASSWORD: a}\n",
			"SBX331 root"},
		"name without a password in MongoDB": {"", db + "mongo:8\n    environment: {MONGO_INITDB_ROOT_USERNAME: root}\n", "SBX331 root"},
		"old place of PostgreSQL": {"", db + "postgres:18-alpine\n    environment: {POSTGRES_PASSWORD: a}\n" +
			oldPlace, `SBX331 "pg:`},
		"old place in the long form": {"", db + "postgres\n    environment: {POSTGRES_PASSWORD: a}\n    volumes:\n" +
			"      - type: volume\n        source: pg\n        target: /var/lib/postgresql/data/\nvolumes: {pg: }\n", "SBX331 /var"},

		"empty password":                {"", db + "postgres:16\n    environment: {POSTGRES_PASSWORD: \"\"}\n", `SBX331 ""`},
		"file without the password":     {"", db + "postgres:16\n    env_file: user.env\n", "SBX331 db:"},
		"file with the name of MongoDB": {"", db + "mongo:8\n    env_file: mongo.env\n", "SBX331 MONGO"},
		"file with the root of MySQL": {"",
			db + "mysql:8\n    environment: {MYSQL_ROOT_PASSWORD: a}\n    env_file: mysql.env\n", "SBX331 MYSQL_USER"},

		"password in the file":          {"", db + "postgres:16\n    env_file: [user.env, password.env]\n", ""},
		"password beside a file":        {"", db + "postgres:16\n    env_file: user.env\n    environment: {POSTGRES_PASSWORD: a}\n", ""},
		"file of the host":              {"", db + "postgres:16\n    env_file: /srv/db.env\n", ""},
		"value of the host":             {"", db + "postgres:16\n    environment: {POSTGRES_PASSWORD: \"${DB_PASSWORD}\"}\n", ""},
		"default of the host":           {"", db + "postgres:16\n    environment: {POSTGRES_PASSWORD: \"${DB_PASSWORD:-}\"}\n", ""},
		"value of the host in the file": {"", db + "postgres:16\n    env_file: host.env\n", ""},
		"trust":                         {"", db + "postgres:16\n    environment: {POSTGRES_HOST_AUTH_METHOD: trust}\n", ""},
		"password of the host":          {"", db + "postgres:16\n    environment: [POSTGRES_PASSWORD]\n", ""},
		"password of a file":            {"", db + "postgres:16\n    environment: {POSTGRES_PASSWORD_FILE: /run/secrets/a}\n", ""},
		"other variables' file":         {"", db + "postgres:16\n    env_file: [{path: db.env, required: false}]\n", ""},
		"random password":               {"", db + "mysql:8\n    environment: {MYSQL_RANDOM_ROOT_PASSWORD: 1}\n", ""},
		"old names of MariaDB":          {"", db + "mariadb:11\n    environment: {MYSQL_ROOT_PASSWORD: a}\n", ""},
		"backup for MariaDB":            {"", db + "mariadb:11\n    volumes: [\"./init:/docker-entrypoint-initdb.d\"]\n", ""},
		"another program":               {"", db + "postgres:16\n    command: sleep infinity\n", ""},
		"another entrypoint":            {"", db + "postgres:16\n    entrypoint: /start\n", ""},
		"release of another day":        {"", db + "postgres:9.6.16\n", ""},
		"image of a digest": {"", db + "postgres@sha256:0dd988931313673ac1f24900de5184b560c9bcc144ce57bdfdaf01110e9f5286\n",
			""},
		"another image":         {"", db + "example.com/postgres:16\n", ""},
		"service that is built": {"", db + "postgres:16\n    build: {context: ., dockerfile_inline: FROM postgres}\n", ""},
		"service of a profile":  {"", db + "postgres:16\n    profiles: [db]\n", ""},
		"volume that is there":  {"", db + "postgres:16\n    volumes: [\"pg:/var/lib/postgresql\"]\nvolumes: {pg: {external: true}}\n", ""},
		"folder that is there":  {"", db + "postgres:16\n    volumes: [\"/srv/pg:/var/lib/postgresql/data\"]\n", ""},
		"new place of PostgreSQL": {"", db + "postgres:18\n    environment: {POSTGRES_PASSWORD: a}\n" +
			"    volumes: [\"pg:/var/lib/postgresql\"]\nvolumes: {pg: }\n", ""},
		"old place of 17": {"", db + "postgres:17\n    environment: {POSTGRES_PASSWORD: a}\n" + oldPlace, ""},
		"old place by PGDATA": {"", db + "postgres:18\n    environment: {POSTGRES_PASSWORD: a, PGDATA: /var/lib/postgresql/data}\n" +
			oldPlace, ""},
		"both of MongoDB": {"", db + "mongo:8\n    environment: {MONGO_INITDB_ROOT_USERNAME: root, MONGO_INITDB_ROOT_PASSWORD_FILE: /a}\n", ""},

		"localhost of another":         {"    environment: {DATABASE_URL: \"postgres://a:a@localhost:5432/a\"}\n", postgres, "SBX332 \"postgres"},
		"without a port":               {"    environment: {DB: postgresql+asyncpg://a:a@localhost/a}\n", postgres, "SBX332 postgresql"},
		"by its number":                {"    environment:\n      - REDIS_URL=redis://127.0.0.1:6379/0\n", db + "redis:8\n", "SBX332 REDIS"},
		"host alone":                   {"    environment: {PGHOST: localhost}\n", postgres, "SBX332 localhost"},
		"by the service's name":        {"    environment: {DATABASE_URL: \"postgres://postgres:a@db:5432/a\"}\n", postgres, ""},
		"another database":             {"    environment: {MYSQL_HOST: localhost}\n", postgres, ""},
		"another port":                 {"    environment: {DATABASE_URL: \"postgres://a:a@localhost:6432/a\"}\n", postgres, ""},
		"page for a browser":           {"    environment: {API: \"http://localhost:5432\"}\n", postgres, ""},
		"network of another":           {"    network_mode: service:db\n    environment: {PGHOST: localhost}\n", postgres, ""},
		"other in the network":         {"    environment: {PGHOST: localhost}\n", postgres + "    network_mode: service:app\n", ""},
		"server in the dev container":  {"    build: {context: ., dockerfile: Dockerfile}\n    environment: {PGHOST: localhost}\n", postgres, ""},
		"localhost of the host's name": {"    extra_hosts: [\"localhost:10.0.0.1\"]\n    environment: {PGHOST: localhost}\n", postgres, ""},
	} {
		t.Run(name, func(t *testing.T) {
			image := "    image: debian:13\n"
			if strings.Contains(c.app, "build:") {
				image = ""
			}
			tree := written{files: "services:\n  app:\n" + image +
				"    command: sleep infinity\n    volumes: [\"..:/w\"]\n" + c.app + c.others}.tree()
			tree[".devcontainer/Dockerfile"] = "FROM debian:13\nRUN apt-get update && apt-get install -y postgresql\n"
			for name, text := range map[string]string{"user": "POSTGRES_USER=app\n", "password": "POSTGRES_PASSWORD=a\n",
				"mongo": "MONGO_INITDB_ROOT_USERNAME=root\n", "mysql": "MYSQL_USER=root\n", "host": "POSTGRES_PASSWORD=${DB_PASSWORD:-}\n"} {
				tree[".devcontainer/"+name+".env"] = text
			}
			got := ""
			for _, f := range judge(t, tree) {
				if f.Rule == "SBX331" || f.Rule == "SBX332" {
					got += f.Rule + " " + strings.Split(tree[f.File], "\n")[f.Line-1][f.Column-1:]
				}
			}
			if !strings.HasPrefix(got, c.want) || c.want == "" && got != "" {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// db begins a service next to app.
const db = "  db:\n    image: "

const postgres = db + "postgres:17\n    environment: {POSTGRES_PASSWORD: a}\n"

const oldPlace = "    volumes: [\"pg:/var/lib/postgresql/data\"]\nvolumes: {pg: }\n"

// The entrypoints of the official images refuse what SBX331 says, and nothing else. They come from SBX_LINT_CORPUS
// (docker-library+postgres and docker-library+mysql, as for TestQuality) and run without a server.
func TestDatabaseEntrypoints(t *testing.T) {
	corpus := os.Getenv("SBX_LINT_CORPUS")
	if corpus == "" {
		t.Skip("needs the repositories of the images: SBX_LINT_CORPUS, as for TestQuality")
	}
	for _, image := range []struct {
		name, tag, script string
		variables         []string
	}{
		{"postgres", "17", "17/bookworm/docker-entrypoint.sh", []string{"", "POSTGRES_PASSWORD=", "POSTGRES_PASSWORD=a", "POSTGRES_USER=a",
			"POSTGRES_HOST_AUTH_METHOD=trust", "POSTGRES_HOST_AUTH_METHOD=md5", "POSTGRES_HOST_AUTH_METHOD=",
			"POSTGRES_PASSWORD_FILE=/etc/hostname"}},
		{"mysql", "8.4", "8.4/docker-entrypoint.sh", []string{"", "MYSQL_ROOT_PASSWORD=", "MYSQL_ROOT_PASSWORD=a", "MYSQL_PASSWORD=a",
			"MYSQL_ALLOW_EMPTY_PASSWORD=yes", "MYSQL_RANDOM_ROOT_PASSWORD=1", "MYSQL_ROOT_PASSWORD_FILE=/etc/hostname"}},
	} {
		repository := filepath.Join(corpus, "docker-library+"+image.name, "repo")
		script, err := exec.Command("git", "--git-dir", repository, "show", "HEAD:"+image.script).Output()
		if err != nil {
			t.Logf("%s is left out: %v", image.name, err)
			continue
		}
		entrypoint := filepath.Join(t.TempDir(), "entrypoint.sh")
		if err := os.WriteFile(entrypoint, script, 0o644); err != nil {
			t.Fatal(err)
		}
		for _, variable := range image.variables {
			cmd := exec.Command("bash", "-c", `. "$0"; mysql_get_config() { echo /none; }; docker_setup_env; docker_verify_minimum_env`, entrypoint)
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "PGDATA=/none", variable}
			refused := cmd.Run() != nil
			environment := ""
			if variable != "" {
				environment = ", environment: [\"" + variable + "\"]"
			}
			found := false
			for _, f := range judge(t, written{files: service + "  db: {image: \"" + image.name + ":" + image.tag + "\"" + environment +
				"}\n"}.tree()) {
				found = found || f.Rule == "SBX331"
			}
			if found != refused {
				t.Errorf("%s with %q: refused %v, found %v", image.name, variable, refused, found)
			}
		}
	}
}
