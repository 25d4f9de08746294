package lint

import (
	"fmt"

	"github.com/org/claude-sandbox/devcontainer/rights"
	"github.com/org/claude-sandbox/devcontainer/rule"
)

// serviceEnds reports a service of Compose whose image runs a shell without a terminal,
// which ends at once. The reference CLI keeps a container of an image alive, and one of
// Compose only with overrideCommand.
func serviceEnds(v *rule.View) []rule.Finding {
	dev := v.Composed.Dev()
	if dev == nil || !v.ByCompose() || v.Root.Member("overrideCommand").Is(true) || v.HasFeatures() ||
		dev.Get("tty").True() || dev.Get("stdin_open").True() {
		return nil
	}
	for _, r := range v.Of(rights.Entrypoint, rights.Command) {
		if !r.Next {
			return nil
		}
	}
	image := dev.Get("image").String()
	if v.Build != nil {
		if v.Build.Final == nil || !v.Build.Final.Base().Known {
			return nil
		}
		image = v.Build.Final.Base().Image
	} else if dev.Get("build") != nil {
		return nil
	}
	name := imageName(image)
	if _, known := plain[name]; !known || name == "scratch" || name == "php" { // php:fpm and php:apache are servers
		return nil
	}
	return []rule.Finding{v.AtValue(v.Root.Member("service"),
		fmt.Sprintf("the service %s ends at once: %s starts a program that wants a terminal", dev.Name, image),
		`add "overrideCommand": true, or to the service: command: sleep infinity`)}
}
