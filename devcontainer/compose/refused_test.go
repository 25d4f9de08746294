package compose_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"

	"github.com/org/claude-sandbox/internal/test/testenv"
)

// Keys and elements without a value, and spaces behind a colon, are refused by both versions of Compose; none of what they take is.
func TestWithoutAValue(t *testing.T) {
	t.Parallel()
	program := testenv.Program(t, "docker-compose")
	var refused []string
	for key := range strings.FieldsSeq(`ports volumes environment env_file depends_on networks labels expose cap_add cap_drop extra_hosts dns
		tmpfs security_opt devices profiles secrets configs links external_links device_cgroup_rules`) {
		refused = append(refused, key+":", key+": [null]")
	}
	for key := range strings.FieldsSeq(`image user restart working_dir network_mode hostname container_name build healthcheck privileged tty
		init stdin_open sysctls logging ulimits`) {
		refused = append(refused, key+":")
	}
	refused = append(refused, "ports: [{3000: null}]", "ports: [{3000: 3000}]", "ports:\n      - '80'\n      -", "volumes:\n      - ./a: /b",
		"volumes:\n      - /a:", "environment: [null, A=b]", "command: [null]", "depends_on: [{db: {condition: service_started}}]",
		"depends_on: {db: service_started}", "depends_on: {db: }", "user: 1000")
	taken := []string{"command:\n      - a", "deploy:", "ports: [{target: 80}]", "volumes: [{type: volume, target: /x}]",
		"environment: {A: }", "environment: [A]",
		"environment: ['']", "depends_on: {db: {condition: service_started}}", "user: '1000'", "user: ${NONE:-1000}", "user: 1000:1000",
		"networks: {default: }",
		"ports: []", "volumes: []", "labels: {a: }"}
	file := func(keys ...string) (name, text string) {
		text = "services:\n  db:\n    image: b\n"
		for n, key := range keys {
			image := "image: a\n    "
			if strings.HasPrefix(key, "image") {
				image = ""
			}
			text += fmt.Sprintf("  app%d:\n    %s%s\n", n, image, key)
		}
		name = filepath.Join(t.TempDir(), "a.yml")
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return name, text
	}
	for _, key := range slices.Concat(refused, taken) {
		want := slices.Contains(refused, key)
		name, text := file(key)
		p := load("a.yml", text)
		if problems := append(slices.Clip(p.Problems), p.Refused()...); len(problems) > 0 != want {
			t.Errorf("%s: %v", key, problems)
		}
		options, err := cli.NewProjectOptions([]string{name}, cli.WithName("x"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := options.LoadProject(context.Background()); (err != nil) != want {
			t.Errorf("%s: Compose 2 says %v", key, err)
		}
	}
	// Compose 1 takes its time to begin, and says all that the schema refuses at once.
	first := func(keys ...string) (string, error) {
		name, _ := file(keys...)
		out, err := exec.Command(program, "-f", name, "config", "-q").CombinedOutput()
		return string(out), err
	}
	if out, err := first(taken...); err != nil {
		t.Errorf("Compose 1: %v %s", err, out)
	}
	plain := slices.DeleteFunc(slices.Clone(refused), func(key string) bool { return strings.Contains(key, "3000") })
	out, _ := first(plain...)
	for n, key := range refused {
		if n = slices.Index(plain, key); n >= 0 && strings.Contains(out, fmt.Sprintf("services.app%d.", n)) {
			continue
		}
		if out, err := first(key); err == nil {
			t.Errorf("%s: Compose 1 takes it: %s", key, out)
		}
	}
}
