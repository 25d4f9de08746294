package keys

import (
	"reflect"
	"testing"
)

// Keys of other kinds leave the environment as those of the model API do.
func TestKeysLeaveTheEnvironment(t *testing.T) {
	found, rest := split([]string{"HOME=/root", "APP_TOKEN=a=b", "INPUT_GITHUB_TOKEN=g", "APP_TOKENS=kept", "ANTHROPIC_API_KEY="},
		[]string{"APP_TOKEN"})
	if want := (Keys{"APP_TOKEN": "a=b", "INPUT_GITHUB_TOKEN": "g"}); !reflect.DeepEqual(found, want) {
		t.Errorf("found %v", found)
	}
	if want := []string{"HOME=/root", "APP_TOKENS=kept", "ANTHROPIC_API_KEY="}; !reflect.DeepEqual(rest, want) {
		t.Errorf("left: %q", rest)
	}
}
