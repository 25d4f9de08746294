package devcontainer

import (
	"path"
)

// The files that this package judges in addition to devcontainer.json.
const (
	FeatureName  = "devcontainer-feature.json"
	TemplateName = "devcontainer-template.json"
	LockName     = "sandbox.lock" // what templates were used, next to devcontainer.json
)

// FileKind says what a Project's Config is.
type FileKind int

// The kinds.
const (
	ConfigFile FileKind = iota
	FeatureFile
	TemplateFile
)

// Kind says what Config is, by its name.
func (p *Project) Kind() FileKind {
	switch path.Base(p.Config.File) {
	case FeatureName:
		return FeatureFile
	case TemplateName:
		return TemplateFile
	}
	return ConfigFile
}
