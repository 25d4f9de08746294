package effective

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// run returns the engine's command line of the reference implementation
// (spawnDevContainer), without the label that repeats the configuration. A later
// option wins, so the order matters: runArgs stand behind the mounts and before
// what is merged.
func (r *resolver) run(config Object, result *Result, image Image) []string {
	host := r.options.Host
	merged := withID(result.Configuration, host.id()).(Object)
	args := []string{"docker", "run", "--sig-proxy=false", "-a", "STDOUT", "-a", "STDERR"}
	for _, p := range list(config.Get("appPort")) {
		if n, ok := p.(json.Number); ok {
			args = append(args, "-p", fmt.Sprintf("127.0.0.1:%[1]s:%[1]s", n))
		} else {
			args = append(args, "-p", text(p))
		}
	}
	if result.Mount != "" {
		args = append(args, "--mount", withID(result.Mount, host.id()).(string))
	}
	for _, m := range list(merged.Get("mounts")) {
		args = append(args, "--mount", mountOption(m))
	}
	for _, l := range host.labels() {
		args = append(args, "-l", l)
	}
	env, _ := merged.Get("containerEnv").(Object)
	for _, e := range env {
		args = append(args, "-e", e.Name+"="+text(e.Value))
	}
	if user, _ := merged.Get("containerUser").(string); user != "" {
		args = append(args, "-u", user)
	}
	for _, a := range list(merged.Get("runArgs")) {
		args = append(args, text(a))
	}
	if truthy(merged.Get("init")) {
		args = append(args, "--init")
	}
	if truthy(merged.Get("privileged")) {
		args = append(args, "--privileged")
	}
	for _, c := range list(merged.Get("capAdd")) {
		args = append(args, "--cap-add", text(c))
	}
	for _, s := range list(merged.Get("securityOpt")) {
		args = append(args, "--security-opt", text(s))
	}
	args = append(args, "--entrypoint", "/bin/sh", r.imageName(config), "-c", keepAlive(merged), "-")
	if merged.Get("overrideCommand") == false {
		entrypoint, cmd := r.imageStart(image)
		args = append(append(args, entrypoint...), cmd...)
	}
	return args
}

// keepAlive is the script that stands in the place of the image's ENTRYPOINT.
func keepAlive(merged Object) string {
	var entrypoints []string
	for _, e := range list(merged.Get("entrypoints")) {
		entrypoints = append(entrypoints, text(e))
	}
	return "echo Container started\ntrap \"exit 0\" 15\n" + strings.Join(entrypoints, "\n") +
		"\nexec \"$@\"\nwhile sleep 1 & wait $!; do :; done"
}

// mountOption writes a mount. It uses only three members of an object: its
// readonly is lost.
func mountOption(v any) string {
	o, ok := v.(Object)
	if !ok {
		return text(v)
	}
	part := func(name string) string {
		if !o.Has(name) {
			return "undefined"
		}
		return text(o.Get(name))
	}
	source := ""
	if truthy(o.Get("source")) {
		source = "src=" + part("source") + ","
	}
	return "type=" + part("type") + "," + source + "dst=" + part("target")
}

var notInName = regexp.MustCompile(`[^a-z0-9._-]+`)

// imageName is the name under which the container's image will stand: that of
// the configuration, or of what is built from its Dockerfile.
func (r *resolver) imageName(config Object) string {
	if name, ok := config.Get("image").(string); ok && !r.builds(config) {
		return name
	}
	folder := strings.ReplaceAll(r.options.Host.Workspace, `\`, "/")
	sum := sha256.Sum256([]byte(r.options.Host.Workspace))
	return notInName.ReplaceAllString(strings.ToLower(fmt.Sprintf("vsc-%s-%x", path.Base(folder), sum)), "")
}
