package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/internal/engine"
	"github.com/org/claude-sandbox/internal/hostprogram"
	"github.com/org/claude-sandbox/internal/mountinfo"
)

// Places is what Look is told of the one who asks.
type Places struct {
	Getenv  func(string) string
	Root    string // of the file system; "" = "/"
	Folders []Folder
	// Settings are the sources of a run's settings, which the caller has read.
	Settings []Source
	// Connect finds the engine, TryFirewall tries the firewall in a container of it.
	Connect     func(context.Context) (*engine.Engine, error)
	TryFirewall func(context.Context, *engine.Engine) (tried bool, err error)
	// Key says where the model's key is, or why there is none.
	Key func() (source string, err error)
}

// lookTimeout bounds one question to the engine or a program.
const lookTimeout = 30 * time.Second

// Look finds out what Judge is asked about. It writes nothing.
func Look(ctx context.Context, p Places) Facts {
	f := Facts{
		System: runtime.GOOS, Container: containerKind(cmp.Or(p.Root, "/"), p.Getenv),
		CI: p.Getenv("CI") != "", Programs: map[string]string{},
		Proxy: proxyVariable(p.Getenv), Bundles: bundles(p.Getenv),
	}
	f.Git, f.GitErr = gitSays(ctx)
	for _, name := range editors {
		if path, err := hostprogram.Find(name); err == nil {
			f.Programs[name] = path
		}
	}
	for _, folder := range p.Folders {
		near := nearest(folder.Path)
		if folder.Err == nil {
			folder.Err = writable(near)
		}
		folder.Free = free(near)
		f.Folders = append(f.Folders, folder)
	}
	f.Settings = p.Settings
	f.KeySource, f.KeyErr = p.Key()
	f.lookAtEngine(ctx, p)
	return f
}

func (f *Facts) lookAtEngine(ctx context.Context, p Places) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	e, err := p.Connect(ctx)
	if err != nil {
		f.EngineErr = err
		return
	}
	defer e.Close()
	d, err := e.Describe(ctx)
	if err != nil {
		f.EngineErr = err
		return
	}
	f.Engine = &d
	f.FirewallTried, f.FirewallErr = p.TryFirewall(ctx, e)
}

// containerKind is the kind of container that this is, by the marks that engines leave.
func containerKind(root string, getenv func(string) string) string {
	there := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	switch {
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		return "Kubernetes"
	case there("run/.containerenv"):
		return "Podman"
	case there(".dockerenv") && layered(root):
		return "Docker"
	}
	return getenv("container") // set by systemd-nspawn, LXC and others
}

// layered reports whether a root file system is on no disk of its own: machines that
// were made of an image keep Docker's mark.
func layered(root string) bool {
	text, err := os.ReadFile(filepath.Join(root, "proc/self/mountinfo"))
	device := "0:0"
	for m := range mountinfo.Parse(string(text)) {
		if m.Point == "/" {
			device = m.Device
		}
	}
	return err != nil || strings.HasPrefix(device, "0:")
}

func gitSays(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	git, err := hostprogram.Find("git")
	if errors.Is(err, exec.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, git, "--version").Output()
	if err != nil {
		return "", nil
	}
	return strings.TrimSpace(string(out)), nil
}

// proxyVariable names the variable whose proxy a request to the model goes through.
func proxyVariable(getenv func(string) string) string {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy"} {
		if getenv(name) != "" {
			return name
		}
	}
	return ""
}

// maxBundle bounds a file of certificates, in bytes.
const maxBundle = 16 << 20

// bundles are the files of certificates that programs of ours and Claude Code read.
func bundles(getenv func(string) string) (found []Bundle) {
	for _, name := range []string{"SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"} {
		if file := getenv(name); file != "" {
			found = append(found, Bundle{name, readBundle(file)})
		}
	}
	return found
}

func readBundle(file string) error {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return err
	case !info.Mode().IsRegular() || info.Size() > maxBundle:
		return fmt.Errorf("%s is no file of certificates", file)
	}
	text, err := os.ReadFile(file)
	if err == nil && !x509.NewCertPool().AppendCertsFromPEM(text) {
		err = fmt.Errorf("%s holds no certificate", file)
	}
	return err
}

// nearest is the folder, or the nearest one above it that is there.
func nearest(folder string) string {
	for {
		if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(folder) == folder {
			return folder
		}
		folder = filepath.Dir(folder)
	}
}

// writable says why no file can be made in a folder.
func writable(folder string) error {
	info, err := os.Stat(folder)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is no folder", folder)
	}
	if err == nil {
		err = mayWrite(folder)
	}
	if errors.Is(err, fs.ErrPermission) {
		return diag.WithHint(fmt.Errorf("you may not write to %s", folder),
			"sudo chown %d %q, or set XDG_STATE_HOME and XDG_CACHE_HOME to folders of yours", os.Geteuid(), folder)
	}
	return err
}
