package projects

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/org/claude-sandbox/cmd/sbx-devc/cli"
	"github.com/org/claude-sandbox/internal/filekind"
	"github.com/org/claude-sandbox/internal/jsonc"
	"github.com/org/claude-sandbox/templates/scaffold"
	"github.com/org/claude-sandbox/workspace"
)

// maxConfig bounds a devcontainer.json that is read, in bytes.
const maxConfig = 1 << 20

// NoteClosed says that the agent in the project's dev container could not change the
// project, as where root has cloned it. A container of Compose may have a copy, and
// a container whose user the configuration does not name may be anybody's.
func NoteClosed(a *cli.App, dir string) {
	text, err := filekind.Read(filepath.Join(dir, filepath.FromSlash(scaffold.ConfigPath)), maxConfig)
	if err != nil || runtime.GOOS != "linux" { // elsewhere a virtual machine maps the owners
		return
	}
	doc, _ := jsonc.Parse(scaffold.ConfigPath, text)
	if doc == nil || doc.Root.Member("dockerComposeFile") != nil {
		return
	}
	if user, _ := doc.Root.Member("remoteUser").Str(); user == "" || user == "root" {
		return
	}
	if why := workspace.ClosedToDevContainer(Real(dir), os.Geteuid()); why != "" {
		fmt.Fprintf(a.Stderr, "sbx-devc: warning: %s\n", why)
	}
}
