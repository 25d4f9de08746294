// Package action is the GitHub Action: it runs the agent once, headless, and
// reports in the forms that GitHub understands.
//
//	INPUT_* ─ ParseInputs ─► Inputs ──► Job ──► Sandboxed (package session) ─► Report
//	               │ all errors at once              │ stream-json            │
//	               ▼                                 ▼                        ▼
//	         config_error                    Log: one neutral line     Conclusion
//	               │                         per thing the agent did          │
//	               └───────────────────────────────┬──────────────────────────┘
//	                                               ▼
//	                     $GITHUB_OUTPUT, $GITHUB_STEP_SUMMARY, annotations: in every case
//
// Text of the agent's is hostile here: GitHub's runner executes commands that
// it finds in a log ("::set-output …", "##[add-mask] …"), and a value in
// $GITHUB_OUTPUT ends where its delimiter stands. So agent text reaches the log
// only through Neutral, outputs only behind a delimiter of fresh randomness,
// and the summary only inside a fence that it cannot close.
package action
