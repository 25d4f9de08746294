package images

import (
	_ "embed"

	"github.com/org/claude-sandbox/imagebuild"
)

//go:embed default.Dockerfile
var defaultDockerfile []byte

// DefaultFiles are the files that the default image is built from.
func DefaultFiles() []imagebuild.File { return dockerfileAlone(defaultDockerfile) }

func dockerfileAlone(text []byte) []imagebuild.File {
	return []imagebuild.File{{Name: "Dockerfile", Data: text}}
}

// DefaultName is the name of the default image, by the content of its files.
func DefaultName(files []imagebuild.File) string {
	return "claude-sandbox-default:" + short(files[0].Data)
}
