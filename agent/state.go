package agent

import (
	"encoding/json"
	"path"
)

// StateFiles returns the files, by absolute path, that let an interactive
// claude start without a dialog in the folder workspace for a user with the
// given home. They hold no secret. Print mode needs only the settings.
func StateFiles(home, workspace string) (map[string][]byte, error) {
	state, err := json.Marshal(map[string]any{
		// Without it claude insists on reaching the vendor's hosts first.
		"hasCompletedOnboarding": true,
		"projects": map[string]any{
			workspace: map[string]any{"hasTrustDialogAccepted": true},
		},
	})
	if err != nil {
		return nil, err
	}
	settings, err := json.Marshal(map[string]any{
		"skipDangerousModePermissionPrompt": true,
		// The preflight asks the vendor's host about every page, whatever the
		// base URL; the sandbox's firewall decides here.
		"skipWebFetchPreflight": true,
	})
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		path.Join(home, ".claude.json"):             state,
		path.Join(home, ".claude", "settings.json"): settings,
	}, nil
}
