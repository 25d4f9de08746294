package action

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/org/claude-sandbox/firewall/credential"
	"github.com/org/claude-sandbox/internal/diag"
	"github.com/org/claude-sandbox/sandbox/runplan"
)

// parse reads inputs of a workspace with one prompt file; a key is there
// unless the inputs say otherwise.
func parse(t *testing.T, inputs map[string]string) (Inputs, []error) {
	t.Helper()
	workspace := t.TempDir()
	write(t, filepath.Join(workspace, "ask.md"), "from a file\n")
	write(t, filepath.Join(workspace, "ask.json"), `{"type":"object"}`)
	write(t, filepath.Join(workspace, "sub", "x"), "")
	return parseIn(workspace, inputs)
}

func parseIn(workspace string, inputs map[string]string) (Inputs, []error) {
	return ParseInputs(func(name string) string {
		if value, ok := inputs[name]; ok {
			return strings.TrimSpace(value)
		}
		return map[string]string{"anthropic_api_key": "sk-ant-test", "prompt": "do it"}[name]
	}, func(name string) string { // variables are among the inputs by their names
		if name == "GITHUB_WORKSPACE" {
			return workspace
		}
		return inputs[name]
	})
}

const heldID = "43faee80-7517-4d16-a9cf-231fae11829b"

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The folder of a monorepo comes with its repository, so that git works, and with none that
// is not the checkout's.
func TestTheRepositoryAroundAFolder(t *testing.T) {
	workspace := t.TempDir()
	for _, name := range []string{".git/HEAD", "plain/x", "checkouts/app/.git/HEAD", "checkouts/app/packages/a/x"} {
		write(t, filepath.Join(workspace, name), "ref: refs/heads/main\n")
	}
	app := filepath.Join(workspace, "checkouts", "app")
	for dir, want := range map[string]string{".": "", "plain": workspace, "checkouts/app": "", "checkouts/app/packages/a": app} {
		in, errs := parseIn(workspace, map[string]string{"working_directory": dir})
		if len(errs) > 0 || in.Repository != want || want == app && in.folderInRepository() != "packages/a" {
			t.Errorf("%s: %q, want %q, %v", dir, in.Repository, want, errs)
		}
		if in, _ := parseIn(workspace, map[string]string{"working_directory": dir, "whole_repository": "false"}); in.Repository != "" {
			t.Errorf("%s alone: %q", dir, in.Repository)
		}
	}
	if in, errs := parseIn(workspace, map[string]string{"working_directory": filepath.Join(app, "packages/a")}); len(errs) > 0 ||
		in.Repository != app {
		t.Errorf("by its whole path: %q, %v", in.Repository, errs)
	}
	if in, errs := parseIn(filepath.Join(workspace, "plain"), map[string]string{"working_directory": "."}); len(errs) > 0 ||
		in.Repository != "" {
		t.Errorf("a repository around the checkout: %q, %v", in.Repository, errs)
	}
	// A token in the repository's configuration is one that the agent could read.
	write(t, filepath.Join(app, ".git", "config"), "[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eDp5\n")
	if _, errs := parseIn(workspace, map[string]string{"working_directory": "checkouts/app/packages/a"}); len(errs) != 1 ||
		!strings.Contains(joined(errs), "holds a token") {
		t.Errorf("a token: %v", errs)
	}
}

func TestGateways(t *testing.T) {
	in, errs := parse(t,
		map[string]string{"anthropic_api_key": "", "anthropic_base_url": "https://gateway.example", "anthropic_auth_token": "gateway-token",
			"anthropic_custom_headers": "x-portkey-config: pc-config-1 # x\n\nX-Team: a b"})
	if len(errs) > 0 || !slices.Equal(in.Secrets(), []string{"gateway-token", "pc-config-1 # x", "a b"}) {
		t.Errorf("%v, %q", errs, in.Secrets())
	}
	for want, inputs := range map[string]map[string]string{
		"both set":                    {"anthropic_auth_token": "gateway-token", "anthropic_base_url": "https://gateway.example"},
		"anthropic_base_url is empty": {"anthropic_custom_headers": "X-Team: a"},
		"not of the form":             {"anthropic_base_url": "https://gateway.example", "anthropic_custom_headers": "CANARY"},
		"have already":                {"anthropic_base_url": "https://gateway.example", "anthropic_custom_headers": "x-api-key: CANARY"},

		"input anthropic_base_url is no URL": {"anthropic_base_url": "gateway.example"},
		"input anthropic_base_url: the model API's address ftp://gateway.example: it must begin with https://": {
			"anthropic_base_url": "ftp://gateway.example"},
		"the credential would travel unencrypted": {"anthropic_base_url": "http://gateway.example"},
		"it must have no user, query or fragment": {"anthropic_base_url": "https://u:CANARY@gateway.example"},
	} {
		if _, errs := parse(t, inputs); len(errs) != 1 || !strings.Contains(joined(errs), want) || strings.Contains(joined(errs), "CANARY") {
			t.Errorf("%s: %v", want, errs)
		}
	}
	for name := range otherProviders {
		_, errs := parse(t, map[string]string{name: "1"})
		if len(errs) != 1 || !strings.Contains(errs[0].Error(), name) || !strings.Contains(diag.HintOf(errs[0]), "anthropic_") {
			t.Errorf("%s: %v", name, errs)
		}
	}
	if _, errs := parse(t, map[string]string{"CLAUDE_CODE_USE_FOUNDRY": "0", "CLAUDE_CODE_USE_BEDROCK": "false"}); len(errs) > 0 {
		t.Error(errs)
	}
}

// Bedrock and Vertex AI are named by Claude Code's own variables, and take the place of a key.
func TestClouds(t *testing.T) {
	bedrock := map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_REGION": "eu-central-1", "AWS_BEARER_TOKEN_BEDROCK": "CANARY-0123456789",
		"anthropic_api_key": ""}
	for want, more := range map[string]map[string]string{
		"": {},
		"variables of a cloud's API, and the input anthropic_api_key": {"anthropic_api_key": "sk-ant-x"},
		"there is no key":                  {"AWS_BEARER_TOKEN_BEDROCK": "", "ANTHROPIC_API_KEY": "CANARY-0123456789"},
		"no region":                        {"AWS_REGION": "evil.example/CANARY#"},
		"the variable ANTHROPIC_BASE_URL,": {"ANTHROPIC_BASE_URL": "https://gateway.example"},
	} {
		inputs := maps.Clone(bedrock)
		maps.Copy(inputs, more)
		_, errs := parse(t, inputs)
		if len(errs) > 1 || (want == "") != (len(errs) == 0) || !strings.Contains(joined(errs), want) {
			t.Errorf("%q: %v", want, errs)
		}
	}
	if got := cloudSecrets(func(name string) string { return bedrock[name] }); !slices.Equal(got, []string{"CANARY-0123456789"}) {
		t.Errorf("secrets: %q", got)
	}
}

func TestServicesOfTheJobHavePrivateAddresses(t *testing.T) {
	inputs := map[string]string{
		"allowed_domains": "db:5432 *.example.org redis, docs.example.com\nhttps://vault GET /v1/**\ngit:forge/acme/app\n" +
			"https://api.example.com GET /**"}
	if in, errs := parse(t, inputs); len(errs) > 0 || len(in.Settings().Network.Private) > 0 {
		t.Errorf("without their network: %v %q", errs, in.Settings().Network.Private)
	}
	inputs["services_network"] = "net"
	if in, errs := parse(t, inputs); len(errs) > 0 || !slices.Equal(in.Settings().Network.Private, []string{"db", "redis", "vault", "forge"}) {
		t.Errorf("%v %q", errs, in.Settings().Network.Private)
	}
	inputs["private_domains"] = "docs.example.com, *.example.org"
	if in, errs := parse(t, inputs); len(errs) > 0 ||
		!slices.Equal(in.Settings().Network.Private[4:], []string{"docs.example.com", "*.example.org"}) {
		t.Errorf("%v %q", errs, in.Settings().Network.Private)
	}
	if _, errs := parse(t, map[string]string{"private_domains": "db:5432"}); len(errs) != 1 ||
		!strings.Contains(errs[0].Error(), "private_domains") {
		t.Errorf("a port: %v", errs)
	}
}

// Keys come from the step's environment and are bound to an entry; everything else about one
// is a mistake that is told before anything starts, without its value.
func TestKeysOfTheInputs(t *testing.T) {
	const entry = "git:github.com/acme/app"
	in, errs := parse(t,
		map[string]string{"allowed_domains": entry,
			"keys": "# why\nPUSH=env:TOKEN for " + entry + " # to push\n\nOTHER for github:acme/app as bearer\n"})
	if len(errs) > 0 || len(in.Keys) != 2 {
		t.Fatalf("%v, %q", errs, in.Keys)
	}
	if names := KeyVariables("# why\n PUSH=env:TOKEN for " + entry + "\nOTHER for x\n"); !slices.Equal(names, []string{"TOKEN", "OTHER"}) {
		t.Errorf("variables: %q", names)
	}
	environ := map[string]string{"TOKEN": "secret-value-1\n", "OTHER": ""}
	values, errs := in.keyValues(func(name string) string { return environ[name] })
	if values["PUSH"] != "secret-value-1" || len(errs) != 1 || !strings.Contains(errs[0].Error(), "no variable OTHER") ||
		!strings.Contains(diag.HintOf(errs[0]), "secrets.OTHER") {
		t.Errorf("%v, %v", values, errs)
	}
	binding := func(name string) runplan.Key { return runplan.Key{Binding: credential.Binding{Name: name}} }
	if err := unusedKey(in, &runplan.Plan{Keys: []runplan.Key{binding("PUSH")}}); err == nil ||
		!strings.Contains(err.Error(), "the key OTHER") {
		t.Errorf("a key for no entry: %v", err)
	}
	if err := unusedKey(in, &runplan.Plan{Keys: []runplan.Key{binding("OTHER"), binding("PUSH")}}); err != nil {
		t.Error(err)
	}
	for keys, want := range map[string]string{
		"PUSH=file:/etc/shadow for " + entry:                     "comes from no variable",
		"PUSH=cmd:id for " + entry:                               "comes from no variable",
		"PUSH=gh:github.com for " + entry:                        "comes from no variable",
		"PUSH=ghp_0123456789 for " + entry:                       "no kind",
		"PUSH for github.com":                                    "never for a host as a whole",
		"PUSH":                                                   "what the key is for",
		"PUSH for " + entry + " as cookie":                       "",
		"A=env:X for " + entry + "\nA=env:Y for github:acme/app": "same name",
	} {
		_, errs := parse(t, map[string]string{"allowed_domains": entry, "keys": keys})
		if len(errs) == 0 || !strings.Contains(joined(errs), want) || strings.Contains(joined(errs), "ghp_0123") {
			t.Errorf("%q: %v", keys, errs)
		}
	}
}

func TestInputsAreRead(t *testing.T) {
	held := t.TempDir()
	write(t, filepath.Join(held, "conversation.jsonl"),
		`{"type":"user","uuid":"u","sessionId":"`+heldID+`","message":{"role":"user","content":"hi"}}`+"\n")
	in, errs := parse(t, map[string]string{
		"prompt": "", "prompt_file": "ask.md", "append_system_prompt": "be brief", "model": "claude-x",
		"max_turns": "5", "max_budget_usd": "0.5", "timeout_minutes": "1.5", "presets": "npm",
		"allowed_domains":   "a.example, b.example:8443 # why\n*.c.example\n# nothing\nhttps://api.example.com GET,HEAD /v1/** # read\n",
		"working_directory": "sub",
		"fail_on_denied":    "true", "summary": "false", "image": "registry.example/x:1",
		"fallback_model": "claude-y, claude-z", "allowed_tools": "Read,Bash(git log, diff)\nmcp__db__*", "services_network": "net",
		"mcp_config": `{"mcpServers":{"db":{"command":"x"}}}`, "json_schema": "ask.json", "resume": held,
		"workspace_mode": "copy", "egress": "audit", "denied_domains": "bad.example", "env": "# why\nA=1 # kept\nB=two=2",
		"memory": "4g", "cpus": "1.5",
	})
	if errs != nil {
		t.Fatal(errs)
	}
	if in.Prompt != "from a file\n" || in.AppendSystemPrompt != "be brief" || in.Model != "claude-x" || in.MaxTurns != 5 ||
		in.MaxBudgetUSD != 0.5 ||
		in.Timeout != 90*time.Second || !in.FailOnDenied || in.Summary || in.Image != "registry.example/x:1" ||
		filepath.Base(in.WorkingDirectory) != "sub" {
		t.Errorf("got %+v", in)
	}
	if want := []string{"a.example", "b.example:8443", "*.c.example",
		"https://api.example.com GET,HEAD /v1/**"}; !slices.Equal(in.AllowedDomains, want) {
		t.Errorf("allowed_domains: got %q, want %q", in.AllowedDomains, want)
	}
	s := in.Settings()
	if s.Workspace.Mode != "copy" || s.Network.Mode != "audit" || !slices.Equal(s.Network.Deny, []string{"bad.example"}) ||
		s.Limits.Memory != 4<<30 || s.Limits.CPUs != 1.5 || !slices.Equal(in.Env, []string{"A=1 # kept", "B=two=2"}) {
		t.Errorf("settings %+v, env %q", s, in.Env)
	}
	if !slices.Equal(in.FallbackModels, []string{"claude-y", "claude-z"}) ||
		!slices.Equal(in.AllowedTools, []string{"Read", "Bash(git log, diff)", "mcp__db__*"}) ||
		in.Schema == nil || in.Resume.ID != heldID || len(s.MCP.Servers) != 1 || in.EngineNetwork != "net" {
		t.Errorf("got %+v", in)
	}
	if in, errs := parse(t, map[string]string{"json_schema": "review"}); errs != nil || in.Schema.Check([]byte(findings)) != nil {
		t.Errorf("the schema of a review: %v", errs)
	}
	in, errs = parse(t, nil)
	if s := in.Settings(); s.Workspace.Mode != "bind" || s.Network.Mode != "allowlist" {
		t.Errorf("default settings: %+v", s)
	}
	if errs != nil || in.Timeout != 30*time.Minute || !in.Summary || in.FailOnDenied {
		t.Errorf("defaults: got %+v, %v", in, errs)
	}
}

func TestInputsAreRefused(t *testing.T) {
	for name, tc := range map[string]struct {
		inputs map[string]string
		want   string
	}{
		"no prompt":            {map[string]string{"prompt": " "}, "prompt and prompt_file are both empty"},
		"two prompts":          {map[string]string{"prompt_file": "ask.md"}, "prompt and prompt_file are both set"},
		"no such prompt file":  {map[string]string{"prompt": "", "prompt_file": "none.md"}, `input prompt_file: the workspace has no "none.md"`},
		"prompt file above":    {map[string]string{"prompt": "", "prompt_file": "../x"}, `input prompt_file: "../x" leads out of the workspace`},
		"prompt file absolute": {map[string]string{"prompt": "", "prompt_file": "/etc/passwd"}, "prompt_file"},
		"no key":               {map[string]string{"anthropic_api_key": ""}, "no credential"},
		"two keys":             {map[string]string{"claude_code_oauth_token": "x"}, "both set"},
		"key and rule":         {map[string]string{"anthropic_federation_rule_id": "fdrl_1", "anthropic_organization_id": "o"}, "both set"},
		"rule alone":           {map[string]string{"anthropic_api_key": "", "anthropic_federation_rule_id": "fdrl_1"}, "needed together"},
		"rule's account alone": {map[string]string{"anthropic_api_key": "", "anthropic_service_account_id": "svac_1"}, "needed together"},
		"workspace mode":       {map[string]string{"workspace_mode": "none"}, `input workspace_mode: "none" is not known`},
		"egress":               {map[string]string{"egress": "host"}, `input egress: "host" is not known`},
		"egress none":          {map[string]string{"egress": "none", "presets": "npm"}, "egress is none, and hosts are allowed"},
		"denied entry":         {map[string]string{"denied_domains": "*"}, "input denied_domains"},
		"variable of the step": {map[string]string{"env": "HOME"}, "HOME has no value"},
		"a variable of ours":   {map[string]string{"env": "HOME=/x\nA=b"}, "input env: HOME is set by the sandbox itself"},
		"variable's name":      {map[string]string{"env": "1A=b"}, "input env: line 1"},
		"memory":               {map[string]string{"memory": "much"}, "input memory"},
		"too little memory":    {map[string]string{"memory": "1k"}, "input memory: no agent works in 1024 bytes"},
		"too few processors":   {map[string]string{"cpus": "0.001"}, "input cpus: no agent works with 0.001 of"},
		"no processors":        {map[string]string{"cpus": "0"}, "input cpus"},
		"processors":           {map[string]string{"cpus": "-1"}, "input cpus"},
		"fallback":             {map[string]string{"fallback_model": "--resume"}, "input fallback_model"},
		"tool is an option":    {map[string]string{"allowed_tools": "--tools"}, `input allowed_tools: "--tools"`},
		"servers":              {map[string]string{"mcp_config": `{"mcpServers":{"db":{}}}`}, "input mcp_config: "},
		"no servers' file":     {map[string]string{"mcp_config": "none.json"}, `input mcp_config: the workspace has no "none.json"`},
		"servers' file above":  {map[string]string{"mcp_config": "../x"}, "leads out"},
		"schema":               {map[string]string{"json_schema": `{"type":"array"}`}, "input json_schema"},
		"schema elsewhere": {map[string]string{"json_schema": `{"type":"object","$ref":"file:///etc/passwd"}`},
			"must hold all that it needs"},
		"no conversation":      {map[string]string{"resume": "/nowhere"}, "input resume: /nowhere: no such file"},
		"resume is relative":   {map[string]string{"resume": "x"}, "no absolute path"},
		"boolean":              {map[string]string{"fail_on_denied": "yes"}, `"yes" is neither true nor false`},
		"summary":              {map[string]string{"summary": "True"}, `"True" is neither true nor false`},
		"turns":                {map[string]string{"max_turns": "0"}, "max_turns"},
		"turns in words":       {map[string]string{"max_turns": "five"}, "max_turns"},
		"budget":               {map[string]string{"max_budget_usd": "NaN"}, "max_budget_usd"},
		"budget infinite":      {map[string]string{"max_budget_usd": "Inf"}, "max_budget_usd"},
		"timeout":              {map[string]string{"timeout_minutes": "0"}, "timeout_minutes: \"0\" is not a number above 0"},
		"retries backwards":    {map[string]string{"retry_minutes": "-1"}, "retry_minutes: \"-1\" is not a number from 0 up to"},
		"timeout not a number": {map[string]string{"timeout_minutes": "NaN"}, "timeout_minutes"},
		"host":                 {map[string]string{"allowed_domains": "https://a.example/x"}, "allowed_domains"},
		"every host":           {map[string]string{"allowed_domains": "*"}, "allowed_domains"},
		"preset":               {map[string]string{"presets": "nmp"}, "presets"},
		"model is an option":   {map[string]string{"model": "--mcp-config"}, "model"},
		"image is an option":   {map[string]string{"image": "a b"}, "image"},
		"no such folder":       {map[string]string{"working_directory": "none"}, `input working_directory: the workspace has no "none"`},
		"folder above":         {map[string]string{"working_directory": ".."}, "working_directory"},
		"folder elsewhere":     {map[string]string{"working_directory": "/etc"}, "working_directory"},
		"folder is a file":     {map[string]string{"working_directory": "ask.md"}, "is no folder"},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := parse(t, tc.inputs)
			if len(errs) != 1 || !strings.Contains(errs[0].Error(), tc.want) {
				t.Errorf("got %v, want one error with %q", errs, tc.want)
			}
		})
	}
}

func TestInputErrorsAreReportedTogether(t *testing.T) {
	_, errs := parse(t, map[string]string{"prompt": "", "max_turns": "x", "summary": "x", "anthropic_api_key": "", "allowed_domains": "a b*c"})
	if len(errs) != 5 {
		t.Errorf("got %d errors, want 5: %v", len(errs), errs)
	}
}

func TestKeyIsNeverInAnError(t *testing.T) {
	_, errs := parse(t, map[string]string{"anthropic_api_key": "sk-ant-secret part"})
	if len(errs) != 1 || strings.Contains(errs[0].Error()+diag.HintOf(errs[0]), "secret part") {
		t.Errorf("got %v", errs)
	}
}

func TestAttackLinkLeadsOutOfTheWorkspace(t *testing.T) {
	outside := t.TempDir()
	write(t, filepath.Join(outside, "secret"), "key")
	workspace := t.TempDir()
	for link, target := range map[string]string{"prompt.md": filepath.Join(outside, "secret"), "dir": outside, "up": ".."} {
		if err := os.Symlink(target, filepath.Join(workspace, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, inputs := range []map[string]string{
		{"prompt": "", "prompt_file": "prompt.md"},
		{"prompt": "", "prompt_file": "dir/secret"},
		{"working_directory": "dir"},
		{"working_directory": "up"},
	} {
		if in, errs := parseIn(workspace, inputs); len(errs) != 1 {
			t.Errorf("%v: got %+v and %v, want one error", inputs, in, errs)
		}
	}
}

func TestAttackTokenLeftInTheCheckout(t *testing.T) {
	for name, tc := range map[string]struct {
		config string
		refuse bool
	}{
		"clean":         {"[remote \"origin\"]\n\turl = https://github.com/o/r\n", false},
		"ssh":           {"[remote \"origin\"]\n\turl = git@github.com:o/r\n", false},
		"extra header":  {"[http \"https://github.com/\"]\n\textraheader = AUTHORIZATION: basic eDp5\n", true},
		"in upper case": {"[http]\n\tExtraHeader=x\n", true},
		"to push to":    {"[remote \"origin\"]\n\tpushurl = https://x-access-token:ghs_x@github.com/o/r\n", true},
		"in a rewrite":  {"[url \"https://x-access-token:ghs_x@github.com/\"]\n\tinsteadOf = https://github.com/\n", true},
		"in the URL":    {"[remote \"origin\"]\n\turl = https://x-access-token:ghs_x@github.com/o/r\n", true},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := t.TempDir()
			write(t, filepath.Join(workspace, ".git", "config"), tc.config)
			_, errs := parseIn(workspace, nil)
			if refused := len(errs) == 1; refused != tc.refuse {
				t.Errorf("got %v, want refused = %v", errs, tc.refuse)
			}
			workspace = t.TempDir()
			write(t, filepath.Join(workspace, ".git", "config"), "")
			write(t, filepath.Join(workspace, ".git", "modules", "lib", "deep", "config"), tc.config)
			_, errs = parseIn(workspace, nil)
			if refused := len(errs) == 1; refused != tc.refuse {
				t.Errorf("in a submodule: got %v, want refused = %v", errs, tc.refuse)
			}
			workspace = t.TempDir()
			write(t, filepath.Join(workspace, "other", ".git", "HEAD"), "ref: refs/heads/main\n")
			write(t, filepath.Join(workspace, "other", ".git", "config"), tc.config)
			_, errs = parseIn(workspace, nil)
			if refused := len(errs) == 1; refused != tc.refuse {
				t.Errorf("in another checkout: got %v, want refused = %v", errs, tc.refuse)
			}
		})
	}
}

func TestNoWorkspace(t *testing.T) {
	for _, workspace := range []string{"", "/", "relative", filepath.Join(t.TempDir(), "none")} {
		if _, errs := parseIn(workspace, nil); len(errs) != 1 || diag.HintOf(errs[0]) == "" {
			t.Errorf("workspace %q: got %v, want one error with a hint", workspace, errs)
		}
	}
}
