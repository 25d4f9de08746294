package testenv

import (
	"os"
	"path/filepath"
	"testing"
)

// Files that the CLI writes beside the project would pile up on the machine of
// whoever runs the tests.
func TestTheDevcontainerCLILeavesNothingBehind(t *testing.T) {
	Program(t, "devcontainer")
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Run("a test", func(t *testing.T) {
		dir := t.TempDir()
		for name, text := range map[string]string{
			"devcontainer.json":           `{"image": "debian:12", "features": {"./f": {}}}`,
			"f/devcontainer-feature.json": `{"id": "f", "version": "1.0.0"}`,
			"f/install.sh":                ":\n",
		} {
			file := filepath.Join(dir, ".devcontainer", name)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := Devcontainer(t, "read-configuration", "--workspace-folder", dir,
			"--include-features-configuration").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left behind (%v)", left, err)
	}
}
