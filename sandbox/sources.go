package sandbox

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/org/claude-sandbox/sandbox/runplan"
	"github.com/org/claude-sandbox/settings"
)

// Sources say where the values of a run's secrets came from, for a look for them in
// the changes of a run that was killed, when no process knows them any more. No value is among them.
type Sources struct {
	Secrets []runplan.Secret `json:"secrets,omitempty"`
	// Unknown says that there were others: of a command, which does not run twice, of a
	// file whose name counts from the folder that the run was started in, or variables.
	Unknown bool `json:"unknown,omitempty"`
}

// sourcesOf are those of the plan's secrets and keys. names are all that the run's finder knows.
func sourcesOf(p *runplan.Plan, names []string) *Sources {
	s, secrets := &Sources{}, slices.Clone(p.Secrets)
	for _, k := range p.Keys {
		secrets = append(secrets, runplan.Secret{Name: k.Name, From: k.From})
	}
	for _, secret := range secrets {
		r, err := settings.Secret{Name: secret.Name, From: secret.From}.Reference()
		isHere := r.Kind == settings.ReferenceFile && !filepath.IsAbs(r.Of) && !strings.HasPrefix(r.Of, "~/")
		if err == nil && r.Kind != settings.ReferenceCommand && !isHere {
			s.Secrets = append(s.Secrets, secret)
		}
	}
	s.Unknown = len(s.Secrets) < len(secrets) || slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(secrets, func(secret runplan.Secret) bool { return secret.Name == name })
	})
	return s
}
