//go:build unix

package instructions

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Attack: an agent leaves a skill that a later run never comes to the end of.
func TestAttackASkillWithoutAnEnd(t *testing.T) {
	dir := t.TempDir()
	skill := filepath.Join(dir, ".claude", "skills", "a", "SKILL.md")
	if err := os.MkdirAll(filepath.Dir(skill), 0o755); err != nil {
		t.Fatal(err)
	}
	testenv.Endless(t, skill, func() {
		s, err := Project(dir)
		if err != nil || len(s.Files) != 0 || !slices.ContainsFunc(s.LeftOut, func(l string) bool { return l != "" }) {
			t.Errorf("%+v, %v", s, err)
		}
	})
}
