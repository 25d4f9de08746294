package devcontainer

import (
	"path"
	"path/filepath"
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

// IsConfiguration reports whether a file's name is one of those that Open makes a Project
// of by itself: devcontainer.json, and the metadata of Features and Templates.
func IsConfiguration(file string) bool {
	switch filepath.Base(file) {
	case "devcontainer.json", ".devcontainer.json", FeatureName, TemplateName:
		return true
	}
	return false
}

// IsDockerfile reports whether Dockerfiles go under a file's name.
func IsDockerfile(file string) bool { return dockerfileName.MatchString(filepath.Base(file)) }
