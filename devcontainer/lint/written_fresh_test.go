package lint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/devcontainer/lint"
)

// composedAt is a configuration by Compose whose service has the project at /w, with more of the configuration's own.
func composedAt(folder, more string) string {
	return `{"dockerComposeFile": "compose.yaml", "service": "app", "workspaceFolder": "` + folder + `"` + more + `}` +
		"\n-- .devcontainer/compose.yaml --\n"
}

const ignored = "\n-- .devcontainer/Dockerfile --\nFROM debian:12\nCOPY docs/a.md /a.md\n-- docs/a.md --\n-- .dockerignore --\n"

// writtenFresh are mistakes of projects that were written without a look at the rules; the reference CLI and the engine
// refuse each, and take what stands next to it.
var writtenFresh = []pair{
	// A Compose project's hooks begin in what the service mounts.
	{"script of a hook with Compose", `error SBX318 "bash`,
		composedAt("/w", `, "postCreateCommand": "bash .devcontainer/setup.sh"`) + service + "-- a.go --\n", composedAt("/w",
			`, "postCreateCommand": "bash .devcontainer/setup.sh"`) +
			service + "-- .devcontainer/setup.sh --\ntrue\n"},
	{"folder of a hook with Compose", `error SBX318 "cd`, composedAt("/w", `, "postCreateCommand": "cd web && ls"`) + service +
		"-- api/a.go --\n", composedAt("/w", `, "postCreateCommand": "cd web && ls"`) + service + "-- web/a.ts --\n"},
	{"script below the folder of all projects", `error SBX318 "bash`, composedAt("/workspaces/${localWorkspaceFolderBasename}",
		`, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/workspaces:cached\"]\n-- a.go --\n",
		composedAt("/workspaces/${localWorkspaceFolderBasename}", `, "postCreateCommand": "bash setup.sh"`) +
			"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/workspaces:cached\"]\n-- setup.sh --\ntrue\n"},
	{"script in a volume", `SBX318`, "", composedAt("/w", `, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"code:/w\"]\nvolumes: {code: }\n-- a.go --\n"},
	{"script in a folder above the project", `SBX318`, "", composedAt("/w", `, "postCreateCommand": "bash setup.sh"`) +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"../..:/w\"]\n-- a.go --\n"},
	{"folder that the editor opens", `warning SBX317 "/w/api"`, composedAt("/w/api", "") + service + "-- web/a.ts --\n",
		composedAt("/w/api", "") + service + "-- api/a.go --\n"},
	{"folder of the editor in a volume", `SBX317`, "", composedAt("/w/api", "") +
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"..:/w\", \"/w/api\"]\n-- web/a.ts --\n"},
	{"folder that the editor opens, of an image", `warning SBX317 "/workspaces`,
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api"`) + "\n-- web/a.ts --\n",
		imaged("debian:12", `, "workspaceFolder": "/workspaces/${localWorkspaceFolderBasename}/api"`) + "\n-- api/a.go --\n"},
	// What initializeCommand may make is not missing.
	{"variables' file of Compose", `error SBX311 .env`, composedAt("/w", `, "initializeCommand": "docker network create x || true"`) +
		service + "    env_file: .env\n", composedAt("/w", `, "initializeCommand": "test -f .devcontainer/.env || cp a .devcontainer/.env"`) +
		service + "    env_file: .env\n"},
	{"variables' file of a script", `SBX311`, "", composedAt("/w", `, "initializeCommand": "sh .devcontainer/dotenv.sh"`) +
		service + "    env_file: .env\n-- .devcontainer/dotenv.sh --\n"},
	{"Dockerfile of a script", `error SBX311 "Dockerfile"`, `{"initializeCommand": "echo hi", "build": {"dockerfile": "Dockerfile"}}`,
		`{"initializeCommand": "cp a.Dockerfile .devcontainer/Dockerfile", "build": {"dockerfile": "Dockerfile"}}`},
	// Numbers and names that the engine refuses.
	{"port too high", `error SBX321 "3000:80000"`, `{"image": "a:1", "appPort": ["3000:80000"]}`,
		`{"image": "a:1", "appPort": ["127.0.0.1:3000:65535/tcp"]}`},
	{"port too high in an option", `error SBX321 "-p"`, `{"image": "a:1", "runArgs": ["-p", "127.0.0.1:99999:80"]}`,
		`{"image": "a:1", "runArgs": ["-p", "[::1]:3000-3001:80-81"]}`},
	{"port too high in Compose", `error SBX316 "3000:80000"`, service + "    ports: [\"3000:80000\"]\n",
		service + "    ports: [\"127.0.0.1::65535\"]\n"},
	{"name of a service's container", `error SBX316 my app`, service + "    container_name: my app\n",
		service + "    container_name: my-app_1.x\n"},
	{"place of a service's mount", `error SBX316 ..:work`, "services:\n  app:\n    image: x/y:1\n    volumes: [\n      ..:work]\n",
		"services:\n  app:\n    image: x/y:1\n    volumes: [\"..:/w\", \"${HOME}/a:${PLACE}\"]\n"},
	{"volumes of no service", `error SBX316 data`, service + "    volumes_from: [\n      data]\n",
		service + "    volumes_from: [\"container:data\", \"db:ro\"]\n  db: {image: \"x/y:1\"}\n"},
	{"tmpfs with a source", `error SBX310 "type`, `{"image": "a:1", "mounts": ["type=tmpfs,source=x,target=/x"]}`,
		`{"image": "a:1", "mounts": ["type=tmpfs,target=/x,tmpfs-size=64m"]}`},
	{"name of a volume", `error SBX310 {`, `{"image": "a:1", "mounts": [{"type": "volume", "source": "my cache", "target": "/x"}]}`,
		`{"image": "a:1", "mounts": [{"type": "volume", "source": "${localWorkspaceFolderBasename}-${devcontainerId}.x", "target": "/x"}]}`},
	{"option of the build", `error SBX321 "--no-cahe"`, `{"build": {"dockerfile": "Dockerfile", "options": ["--no-cahe"]}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n", `{"build": {"dockerfile": "Dockerfile", "options": ["--no-cache"]}}` +
		"\n-- .devcontainer/Dockerfile --\nFROM debian:12\n"},
	// The last pattern that matches counts.
	{"exception in front of its pattern", `error SBX742 docs/a.md`, `{"build": {"dockerfile": "Dockerfile", "context": ".."}}` + ignored +
		"!docs/a.md\ndocs\n", `{"build": {"dockerfile": "Dockerfile", "context": ".."}}` + ignored + "docs\n!docs/a.md\n"},
}

func TestFreshProjects(t *testing.T) { testPairs(t, writtenFresh) }

// Whether a script may be executed only a disk says.
func TestScriptsOfComposeAreExecutable(t *testing.T) {
	root := t.TempDir()
	for name, text := range (written{files: composedAt("/w", `, "postCreateCommand": "./setup.sh"`) + service +
		"-- setup.sh --\ntrue\n"}).tree() {
		full := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, mode := range []os.FileMode{0o644, 0o755} {
		if err := os.Chmod(filepath.Join(root, "setup.sh"), mode); err != nil {
			t.Fatal(err)
		}
		found := 0
		err := devcontainer.Open(filepath.Join(root, ".devcontainer", "devcontainer.json"), func(p *devcontainer.Project) error {
			for _, f := range lint.Check(p) {
				if f.Rule == "SBX318" {
					found++
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if (found == 1) != (mode == 0o644) {
			t.Errorf("%o: %d findings", mode, found)
		}
	}
}
