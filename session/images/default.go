package images

import (
	_ "embed"
)

//go:embed default.Dockerfile
var defaultDockerfile []byte

// DefaultFiles are the files that the default image is built from, by their paths.
func DefaultFiles() map[string][]byte { return map[string][]byte{"Dockerfile": defaultDockerfile} }

// DefaultName is the name of the default image, by the content of its files.
func DefaultName(files map[string][]byte) string {
	return "claude-sandbox-default:" + short(files["Dockerfile"])
}
