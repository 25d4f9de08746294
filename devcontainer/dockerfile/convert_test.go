package dockerfile_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/org/claude-sandbox/devcontainer/dockerfile"
	"github.com/org/claude-sandbox/internal/test/testenv"
)

// sha256 is the form of one.
var sha256 = "sha256:" + strings.Repeat("1", 64)

// refused are instructions that BuildKit reads and cannot make a step of, with what is said of them and where.
var refused = []struct{ instruction, at, message string }{
	{"EXPOSE 80000", "80000", `"80000" is no port`},
	{"EXPOSE 80 90/http", "90/http", `"90/http" is no port`},
	{"EXPOSE web", "web", `"web" is no port`},
	{"EXPOSE 3000,4000", "3000,4000", `"3000,4000" is no port`},
	{"EXPOSE 90-80", "90-80", `"90-80" is no port`},
	{"EXPOSE 8080 # web", "#", `"#" is no port`},
	{"ENV P=8o80\nEXPOSE $P", "$P", `"8o80" is no port`},
	{"EXPOSE ${P", "${P", "there is no }"},
	{"STOPSIGNAL SIGFOO", "SIGFOO", `there is no signal "SIGFOO"`},
	{"STOPSIGNAL 0", "0", `there is no signal "0"`},
	{"STOPSIGNAL 'TERM", "'TERM", "single-quote"},
	{"ARG D=\nVOLUME $D", "VOLUME $D", "VOLUME names no folder"},
	{"COPY --chmod=rwx a /a", "--chmod=rwx", "--chmod=rwx is no mode"},
	{"ADD --chmod=77777 a /a", "--chmod=77777", "--chmod=77777 is no mode"},
	{"COPY https://x.test/y /y", "https://x.test/y", "COPY fetches nothing"},
	{"COPY git@x.test:a/b /y", "git@x.test:a/b", "COPY fetches nothing"},
	{"ARG V=1\nCOPY https://x.test/$V.git /y", "https://x.test/$V.git", "COPY fetches nothing"},
	{"ARG B=debian\nCOPY --from=$B /a /a", "--from=$B", "--from takes no variables"},
	{"COPY --from=${B /a /a", "--from=${B", "there is no }"},
	{"ADD --checksum=" + sha256 + " a /a", "--checksum=" + sha256, "a is a file of the context"},
	{"ADD --checksum=" + sha256 + " https://x.test/a https://x.test/b /a/", "--checksum=" + sha256, "of one source"},
	{"ADD --checksum=md5:12 https://x.test/a /a", "--checksum=md5:12", `"md5:12" is no checksum`},
	{"ENV A=${B:x}", "${B:x}", "unsupported modifier (:x)"},
	{"ENV A='x", "'x", "single-quote"},
	{"LABEL a=\"b", "\"b", "double-quote"},
	{"WORKDIR /x/${A^}", "/x/${A^}", "unsupported modifier (^)"},
	{"USER ${}", "${}", "bad substitution"},
	{"ARG A=${B:x}", "${B:x}", "unsupported modifier (:x)"},
	{"RUN --mount=type=foo,target=/x true", "RUN --mount=type=foo,target=/x true", `unsupported mount type "foo"`},
	{"RUN --mount=type=cache, target=/x true", "RUN --mount=type=cache, target=/x true", "must be a key=value pair"},
	{"RUN --mount=type=cache,target=/x,uid=me true", "RUN --mount=type=cache,target=/x,uid=me true", "invalid value me for uid"},
	{"RUN --mount=type=secret true", "RUN --mount=type=secret true", "one of source, target required"},
	{"RUN --mount=type=ssh,source=x true", "RUN --mount=type=ssh,source=x true", "takes no source"},
	{"RUN --mount=type=cache,target=/ true", "RUN --mount=type=cache,target=/ true", "the place of /"},
}

// taken are instructions that look like those.
var taken = []string{
	"EXPOSE 80 443/tcp 53/UDP 8000-8010 80/sctp", "EXPOSE $PORT", "ARG P=\nEXPOSE ${P:-80}", "STOPSIGNAL SIGTERM",
	"STOPSIGNAL rtmin+3", "STOPSIGNAL 9",
	"VOLUME relative", "COPY --chmod=0755 a /a", "COPY --chmod=u+rwX,go-w a /a", "COPY --chmod=$M a /a",
	"COPY github.com/a/b /a", "COPY a@b /a", "ADD https://x.test/y.git#main /y", "ADD --checksum=" + sha256 + " https://x.test/a /a",
	"ADD --checksum=" + strings.Repeat("1", 40) + " https://x.test/a.git /a",
	"ADD --checksum=" + strings.Repeat("1", 40) + " github.com/a/b /a",
	"ENV A=${B:-x} C=${B#x} D=${B/x/y} E=\"$B\"", "ARG B=x\nENV A=${B:?must}",
	"RUN --mount=type=cache,target=/x,uid=1000,mode=0755,sharing=locked true",
	"RUN --mount=type=secret,id=x --mount=type=ssh,id=y --mount=type=tmpfs,target=/t,size=64m true",
	"WORKDIR /x\nRUN --mount=target=. true", "RUN echo ${B^} 'x",
}

// unknown are instructions that only the image decides about.
var unknown = []string{"STOPSIGNAL $S", "VOLUME $D", "RUN --mount=type=cache,target=/x,uid=$U true",
	"COPY --chmod=${M:-x} a /a", "EXPOSE ${P-web}",
	"ENV A=${B:?must}"}

// heads are what only the file's first lines can say.
var heads = []struct{ text, at, message string }{
	{"FROM --platform=foo debian:13\n", "--platform=foo", `"foo" is no platform`},
	{"ARG P=linux_amd64\nFROM --platform=$P debian:13\n", "--platform=$P", `"linux_amd64" is no platform`},
	{"FROM --platform=linux/a/b/c debian:13\n", "--platform=linux/a/b/c", "is no platform"},
	{"# check=foo=bar\nFROM debian:13\n", "# check=foo=bar", `invalid check option "foo"`},
	{"# check=error=maybe\nFROM debian:13\n", "# check=error=maybe", "failed to parse check option"},
	{"FROM --platform=$BUILDPLATFORM debian:13\n", "", ""},
	{"FROM --platform=linux/arm64/v8 debian:13\n", "", ""},
	{"FROM --platform=Linux debian:13\n", "", ""},
	{"FROM --platform=windows(10.0.1)/amd64 debian:13\n", "", ""},
	{"# check=skip=all\nFROM debian:13\n", "", ""},
	{"FROM debian:13 AS left\nEXPOSE 80000\nFROM debian:13\n", "80000", `"80000" is no port`}, // nothing is built of it
}

// What BuildKit refuses only when it makes a step is found, where it stands, and nothing else is.
func TestWhatNoStepCanBeMadeOf(t *testing.T) {
	type file struct{ text, at, message string }
	var files []file
	for _, c := range refused {
		files = append(files, file{"FROM debian:13\n" + c.instruction + "\n", c.at, c.message})
	}
	for _, instruction := range taken {
		files = append(files, file{"FROM debian:13\n" + instruction + "\n", "", ""})
	}
	for _, c := range heads {
		files = append(files, file(c))
	}
	var texts []string
	for _, c := range files {
		texts = append(texts, c.text)
		f := parse(c.text)
		switch {
		case c.message == "" && len(f.Problems) == 0:
		case c.message == "" || len(f.Problems) != 1:
			t.Errorf("%q: %+v", c.text, f.Problems)
		case !strings.Contains(f.Problems[0].Message, c.message) || at(c.text, f.Problems[0].Start, f.Problems[0].End) != c.at:
			t.Errorf("%q: %q at %q, want %q at %q", c.text, f.Problems[0].Message,
				at(c.text, f.Problems[0].Start, f.Problems[0].End), c.message, c.at)
		}
	}
	for _, instruction := range unknown {
		if f := parse("FROM a\n" + instruction + "\n"); len(f.Problems) > 0 {
			t.Errorf("%q: %+v", instruction, f.Problems)
		}
	}
	for i, refusal := range buildkit(t, texts) {
		if said := refusedBuild(parse(texts[i])); (refusal != "") != said {
			t.Errorf("%q: BuildKit says %q", texts[i], refusal)
		}
	}
}

// refusedBuild reports whether the build of a file's last stage ends.
func refusedBuild(f *dockerfile.File) bool {
	return slices.ContainsFunc(f.Problems, func(p dockerfile.Problem) bool {
		return p.Stage == nil || slices.Contains(f.Reachable(f.Target("")), p.Stage)
	})
}

// BuildKit refuses whatever is said to be refused: 47 ways to write a value in 20 instructions, with
// and without a variable of that name.
func TestBuildKitRefusesWhatIsSaidToBe(t *testing.T) {
	values := strings.Split(
		"$A ${A} ${A ${A:-b} ${A:+b} ${A:?b} ${A?b} ${A-b} ${A+b} ${A#x} ${A##x} ${A%x} ${A%%x} ${A/x/y} ${A//x/y} ${A/x} ${A^} "+
			"${A,,} ${A:1:2} ${#A} ${!A} ${A:b} $$ $ ${} ${\u00a0A} $1 ${1} \"a a\" 'a' 'a \\$A \\ \"\\\" `x` $(x) ${A:-${B}} "+
			"${A:-${B ${A:-\"x\"} ${A:-'x} a$ ${-} "+
			"${A:} ${A:-} $* ${*} ${A/[/y} ${A#[} ${A/*/y} 8080 0755 u=rwx TERM linux", " ")
	forms := []string{"ENV X=%s", "LABEL x=%s", "WORKDIR /x/%s", "USER %s", "VOLUME %s", "EXPOSE %s", "STOPSIGNAL %s",
		"COPY %s /x", "ADD --chown=%s a /x",
		"COPY --chmod=%s a /x", "RUN --mount=type=cache,target=/x,uid=%s true", "RUN --mount=type=bind,source=%s,target=/x true", "RUN echo %s",
		"COPY --from=%s a /x", "HEALTHCHECK --interval=%s CMD x", "SHELL [\"%s\"]", "CMD %s", "ARG B=%s", "ONBUILD ENV X=%s",
		"RUN --mount=type=%s,target=/x true"}
	var texts []string
	for _, head := range []string{"FROM debian:13\n", "FROM debian:13\nARG A=xy\n", "FROM debian:13\nENV A=xy\n", "FROM scratch\n"} {
		for _, form := range forms {
			for _, value := range values {
				texts = append(texts, head+fmt.Sprintf(form, value)+"\n")
			}
		}
	}
	both := 0
	for i, refusal := range buildkit(t, texts) {
		switch said := refusedBuild(parse(texts[i])); {
		case said && refusal == "":
			t.Errorf("%q: BuildKit takes it, and not so: %+v", texts[i], parse(texts[i]).Problems)
		case said:
			both++
		}
	}
	if both < 1000 {
		t.Errorf("only %d of %d are refused", both, len(texts))
	}
}

// buildkit returns BuildKit's refusal of each Dockerfile, "" for none.
func buildkit(t *testing.T, texts []string) []string {
	t.Helper()
	var in bytes.Buffer
	for _, text := range texts {
		line, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	cmd := exec.Command(testenv.Program(t, "dockerfile2llb"))
	cmd.Stdin = &in
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	refusals := make([]string, 0, len(texts))
	for line := range bytes.Lines(out) {
		var refusal string
		if err := json.Unmarshal(line, &refusal); err != nil {
			t.Fatal(err)
		}
		refusals = append(refusals, refusal)
	}
	if len(refusals) != len(texts) {
		t.Fatalf("%d answers to %d files", len(refusals), len(texts))
	}
	return refusals
}
