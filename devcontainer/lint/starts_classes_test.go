package lint_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/lint"
	"github.com/org/claude-sandbox/internal/diag"
)

// class is what an error of a rule says of a project.
type class struct {
	kind string // one of the constants
	says string // starts: what a program prints when it refuses, as a regular expression
	ends bool   // the container starts, and ends by itself
	rule string

	waits bool // what starts it never comes back
}

const (
	noStart     = "starts: it does not start"
	unread      = "format: the file is not what its format allows, and the reference CLI reads past it or gives up"
	silent      = "silent: it starts, and what is written is not done"
	unsafe      = "security: it starts, and lets the container out or a secret in"
	against     = "policy: it breaks a rule of the organisation"
	uncontained = "sandbox: it starts, and the sandbox of this project does not hold"
)

// classes are those of all rules that give errors, of 2026-11-29. TestErrorsKeepFromStarting tries those that
// say that a project does not start.
var classes = map[string]class{
	"SBX101": {kind: unread}, "SBX102": {kind: unread}, "SBX105": {kind: unread}, "SBX106": {kind: unread}, "SBX107": {kind: unread},
	"SBX109": {kind: unread}, "SBX201": {kind: unread}, "SBX202": {kind: unread}, "SBX203": {kind: unread}, "SBX204": {kind: unread},
	"SBX205": {kind: unread}, "SBX206": {kind: silent}, "SBX210": {kind: unread}, "SBX211": {kind: unread},
	"SBX301": {kind: silent}, "SBX302": {kind: silent}, "SBX303": {kind: silent},
	"SBX306": {kind: noStart, says: `no environment variable name is given`},
	"SBX308": {kind: noStart, says: `is not running`},
	"SBX310": {kind: noStart, says: `mount type unknown|for "--mount" flag|for a local volume name|mount path must be absolute|` +
		`invalid specification|must not specify|tmpfs`},
	"SBX311": {kind: noStart, says: `ENOENT|no such file or directory|[Nn]o such file|not found|does not exist|could not be processed|` +
		`cannot stat|opening seccomp profile`},
	"SBX313": {kind: noStart, says: `not found in Docker Compose configuration|no such service`},
	"SBX316": {kind: noStart, says: `invalid compose project|not allowed|validating |invalid |undefined|found character|must start|` +
		`must be|unexpected|already in use|cycle|exclusive|not found|conflicting options|escape any|has no healthcheck|` +
		`port is already|is invalid|Invalid container name|non-string key`},
	"SBX317": {kind: noStart, says: `[Nn]ot an absolute path|no such file or directory|not a directory|chdir to cwd|must be an absolute`},
	"SBX318": {kind: noStart, says: `[Nn]o such file|not found|can't cd|cannot stat|[Nn]o rule to make|[Mm]issing script|npm ci|` +
		`does not appear to be a Python project|could not find|Could not locate|no modules specified|find a pyproject|lockfile|cannot execute`},
	"SBX319": {kind: noStart, says: `Syntax error|\S: not found|Illegal option|Bad substitution|unexpected operator`},
	"SBX320": {kind: noStart, says: `is not running|mount path must be absolute|executable file not found|not found`},
	"SBX321": {kind: noStart, says: `unknown flag|unknown shorthand|invalid |Invalid |conflicting options|[Cc]onflicting|` +
		`Unable to find image .host:latest|for a local volume|unable to find user|Minimum|opening seccomp|port is already|flag needs|` +
		`contains whitespaces|is invalid|detach|not absolute`},
	"SBX322": {kind: noStart, says: `invalid reference format`},
	"SBX325": {kind: noStart, says: `could not be processed|failed to install|Legacy feature`},
	"SBX326": {kind: noStart, says: `is not running`, ends: true},
	"SBX327": {kind: noStart, says: `is not running|not found`},
	"SBX331": {kind: noStart, says: `is not running`},
	"SBX333": {kind: noStart, says: `time is up`, waits: true},
	"SBX401": {kind: unsafe}, "SBX402": {kind: unsafe}, "SBX403": {kind: unsafe}, "SBX404": {kind: unsafe},
	"SBX405": {kind: unsafe}, "SBX407": {kind: unsafe}, "SBX501": {kind: unsafe},
	"SBX414": {kind: against}, "SBX415": {kind: against}, "SBX416": {kind: against}, "SBX606": {kind: against}, "SBX607": {kind: against},
	"SBX611": {kind: against},
	"SBX703": {kind: noStart, says: `unable to find user|no such user|does not exist|can't find uid`},
	"SBX710": {kind: noStart, says: `Unable to locate package`},
	"SBX712": {kind: noStart, says: `failed to reach build target|target stage|No such image|registry-1`},
	"SBX715": {kind: noStart, says: `unknown instruction|contains no FROM|Invalid containerPort|can't be a URL|invalid from flag|` +
		`must be a key=value`},
	"SBX718": {kind: unread},
	"SBX719": {kind: noStart, says: `invalid from flag value|pull access denied`},
	"SBX729": {kind: noStart, says: `COPY failed|ADD failed`},
	"SBX730": {kind: noStart, says: `invalid reference format`},
	"SBX731": {kind: noStart, says: `no such file or directory|executable file not found`},
	"SBX735": {kind: noStart, says: `sudo: not found|a password is required`},
	"SBX741": {kind: noStart, says: `invalid reference format|base name`},
	"SBX742": {kind: noStart, says: `excluded by .dockerignore`},
	"SBX748": {kind: noStart, says: `Syntax error|\S: not found|Illegal option|Bad substitution|unexpected operator`},
	"SBX749": {kind: noStart, says: `\S: not found|not a git command|[Oo]ption d is ambiguous|Unknown option|No such file or|` +
		`no such file or|do not seem to be installed|Cannot exec`},
	"SBX750": {kind: noStart, says: `already exists|is not unique|in use`},
	"SBX751": {kind: noStart, says: `Permission denied|EACCES|are you root|unable to lock|Could not open lock`},
	"SBX752": {kind: noStart, says: `has no installation candidate|Unable to locate package|externally-managed-environment`},
	"SBX753": {kind: noStart, says: `\S: not found|[Nn]o such file|is not running|Can't open|can only install with an existing|` +
		`does not appear to be a Python project|[Mm]issing script|Unknown command|Cannot find module|-r not specified|` +
		`exec format error|[Ss]yntax error`},
	"SBX754": {kind: noStart, says: `WORKDIR: not found|takes no arguments|cannot communicate with server|systemctl: not found|` +
		`not been booted|group '\w+' does not exist|invalid user|Invalid requirement|requires a version|outside a module|npm ci|` +
		`user '?\w+'? does not exist|ERR_PNPM_NO_GLOBAL_BIN_DIR|COPY failed|Host key verification|cannot run ssh|is not a directory|` +
		`activate: Permission denied|Invalid operation|cannot create directory`},
	"SBX755": {kind: noStart, says: `nonexistent|No such file|cannot create|Directory`},
	"SBX801": {kind: uncontained},
	"SBX802": {kind: uncontained}, "SBX803": {kind: uncontained}, "SBX805": {kind: uncontained}, "SBX806": {kind: uncontained},
	"SBX807": {kind: uncontained},
	"SBX811": {kind: uncontained}, "SBX812": {kind: uncontained}, "SBX819": {kind: uncontained}, "SBX821": {kind: uncontained},
	"SBX823": {kind: uncontained}, "SBX824": {kind: uncontained},
	"SBX903": {kind: unread}, "SBX904": {kind: unread}, "SBX905": {kind: unread}, "SBX906": {kind: unread}, "SBX907": {kind: unread},
	"SBX908": {kind: unread}, "SBX914": {kind: unread},
	"SBX911": {kind: noStart, says: `install.sh`},
	"SBX916": {kind: noStart, says: `failed to install|is not running|not found|can't find`},
	"SBX913": {kind: noStart, says: `install.sh: not found|failed to install`},
}

// bySource are claims that no program here can be asked about. Each names what was read or asked instead, on 2026-11-29; what
// says "not read" is documented there, and still to be looked at.
var bySource = map[string]string{
	// Servers that end at once.
	"elasticsearch without single-node":              "elastic/elasticsearch BootstrapChecks.java, DiscoveryConfiguredCheck",
	"cp-kafka 7 without zookeeper or KRaft settings": "confluentinc/kafka-images kafka/include/etc/confluent/docker/configure",
	"rabbitmq":                                         "docker-library/rabbitmq docker-entrypoint.sh, deprecatedEnvVars",
	"minio without server command":                     "minio/minio Dockerfile.release and dockerscripts/docker-entrypoint.sh",
	"minio password too short":                         "minio/minio internal/auth/credentials.go, secretKeyMinLen",
	"keycloak without command prints help and ends":    "keycloak/keycloak KeycloakMain.java and quarkus/container/Dockerfile",
	"pgadmin without email":                            "pgadmin-org/pgadmin4 pkg/docker/entrypoint.sh",
	"mongo-express looks for mongo, the service is db": "mongo-express/mongo-express-docker 1.0 and mongo-express lib/db.js, which throws",
	"empty password in a file":                         "docker-library/postgres docker-entrypoint.sh, which TestDatabaseEntrypoints runs",
	"method of PostgreSQL that asks for a password":    "docker-library/postgres docker-entrypoint.sh, which TestDatabaseEntrypoints runs",
	// Features from a registry.
	"community Feature on Alpine without bash": "devcontainers-extra/features src/apt-get-packages/install.sh, its first line",
	"Feature of apt on Alpine":                 "devcontainers/features src/python/install.sh",
	"Feature of apt on Alpine in a Dockerfile": "devcontainers/features src/node/install.sh",
	"moby on trixie":                           "devcontainers/features src/docker-in-docker/install.sh",
	// Images that cannot be pulled here.
	"variant of Ubuntu":                            "docker-library/official-images library/python",
	"version behind the variant":                   "docker-library/official-images library/node",
	"version of another system":                    "docker-library/official-images library/alpine",
	"release that is none":                         "docker-library/official-images library/ubuntu",
	"apt-get on Alpine":                            "alpinelinux/aports scripts/mkimg.minirootfs.sh",
	"apt-get on Fedora":                            "fedora-kickstarts fedora-container-base.ks: of package managers it has dnf alone",
	"apt-get on Rocky":                             "rocky-linux/kickstarts Rocky-9-Container-Base.ks",
	"make on Alpine":                               "docker-library/golang Dockerfile-linux.template: only ca-certificates come to Alpine",
	"number 1000 on Alpine's node":                 "nodejs/docker-node Dockerfile-alpine.template; busybox loginutils/adduser.c",
	"packages as a made user":                      "apk-tools src/database.c opens lib/apk/db/lock for writing before it adds anything",
	"names of Debian on Alpine":                    "alpinelinux/aports main/openssl/APKBUILD, of 1.0.2o: its headers are openssl-dev",
	"pip of Alpine":                                "alpinelinux/aports main/python3/externally-managed",
	"pip of Ubuntu in an image for dev containers": "not read: python3.12 of Ubuntu has the file EXTERNALLY-MANAGED",
	"conda activate in a step":                     "conda/conda conda/shell/etc/profile.d/conda.sh: activate is its function",
	"sdk in a hook":                                "devcontainers/features src/java/install.sh",
	// Packages from indexes that these machines do not reach.
	"option of a newer pip":      "pypa/pip NEWS.rst: --break-system-packages since 23.0.1; Ubuntu 22.04 has 22.0.2",
	"uv without an environment":  "uv 0.6.14 itself, by hand: No virtual environment found",
	"newest npm":                 "npm 12.2.2 on Node.js 20.20.2 itself, by hand: Unsupported engine",
	"two tools of uv":            "uv 0.6.14 itself, by hand: unexpected argument 'black' found",
	"https without certificates": "curl of Debian 12 itself, by hand: (77) error setting certificate file",
	"program that was fetched":   "curl and dash of Debian 12 themselves, by hand with a file: Permission denied",
	"Go outside of PATH":         "golang/website _content/doc/install.html: /usr/local/go/bin is to be added to PATH",
	"cargo outside of PATH":      "rust-lang/rustup doc/user-guide/src/installation/index.md: programs are in CARGO_HOME/bin",
	"uv outside of PATH":         "astral-sh/uv crates/uv-dirs/src/lib.rs, user_executable_directory: ~/.local/bin",
	"stage misspelt in a mount":  "moby/buildkit frontend/dockerfile/dockerfile2llb/convert_runmount.go: a name of no stage is an image",
}

// unknownTwins are correct by what no file of theirs says, so they do not start here.
var unknownTwins = map[string]string{
	"system in an archive":                   "the archive has the user",
	"files over a folder of the root folder": "the archive has the user",
	"health that is switched off":            "the image has a health check",
	"file that the editor opens":             "an editor opens the file, and devcontainer exec enters a folder",
}

// A rule that gives errors says what they claim.
func TestErrorsHaveClasses(t *testing.T) {
	known := map[string]bool{}
	for _, r := range lint.Rules() {
		known[r.ID] = true
		if _, ok := classes[r.ID]; !ok && r.Severity == diag.SeverityError {
			t.Errorf("%s gives errors and has no class", r.ID)
		}
	}
	for id := range classes {
		if !known[id] {
			t.Errorf("%s has a class and is no rule", id)
		}
	}
	// Each list of written mistakes is asked.
	asked, err := os.ReadFile("starts_test.go")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("written_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, list := range regexp.MustCompile(`(?m)^var (written\w+) = \[\](written|pair)\{`).FindAllStringSubmatch(string(text), -1) {
			if !strings.Contains(string(asked), list[1]) {
				t.Errorf("%s of %s is no part of claims", list[1], file)
			}
		}
	}
	names := map[string]bool{}
	for _, c := range claims(t) {
		if names[c.name] = true; classes[c.finding.Rule].kind == "" {
			t.Errorf("%s gives an error (%s) and has no class", c.finding.Rule, c.name)
		}
	}
	for name := range bySource {
		if !names[name] {
			t.Errorf("%s is no written mistake", name)
		}
	}
}
