package recipe

import (
	"bytes"
	"maps"

	"github.com/org/claude-sandbox/devcontainer"
	"github.com/org/claude-sandbox/settings"
	"github.com/org/claude-sandbox/settings/trust"
)

// settingsPath is where a project has its settings, slash-separated.
const settingsPath = ".devcontainer/" + devcontainer.SettingsName

// ImagePrefix is how the names of what decides the image begin in Accepted. The names of
// package trust for settings and their lists never do, also where a file of the project
// has such a name.
const ImagePrefix = "./"

// Accepted is what a user accepts of a project: its settings, and the image of its dev
// container where a run can take that. Both may be nil. written is a text that a
// command of ours has put into the place of the settings since they were read; nil =
// none.
func Accepted(file *settings.File, r *Recipe, written []byte) trust.Content {
	content := trust.Content{}
	if file != nil {
		maps.Copy(content, trust.Of(file))
	}
	if r == nil || r.Unusable != "" {
		return content
	}
	for name, text := range r.Content {
		// An image may copy the settings, which are there already.
		same := file != nil && bytes.Equal(text, file.Source) || written != nil && bytes.Equal(text, written)
		if name != settingsPath || !same {
			content[ImagePrefix+name] = text
		}
	}
	return content
}
