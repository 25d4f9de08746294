package baseimage

import (
	"strconv"
	"strings"

	"github.com/org/claude-sandbox/internal/lazyregexp"
)

// Number is a version as far as it is said: 1.24 has two parts.
type Number []int

// ParseNumber reads the number that a text begins with; nil when it begins with none.
func ParseNumber(text string) (out Number) {
	for part := range strings.SplitSeq(firstNumber.FindString(text), ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// Compare returns -1 when a is below b in a part that both say, 1 when it is above, and 0 when neither is said.
func (a Number) Compare(b Number) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] < b[i]:
			return -1
		case a[i] > b[i]:
			return 1
		}
	}
	return 0
}

func (a Number) String() string {
	var parts []string
	for _, n := range a {
		parts = append(parts, strconv.Itoa(n))
	}
	return strings.Join(parts, ".")
}

var (
	firstNumber = lazyregexp.New(`^\d{1,4}(\.\d{1,4})*`)
	// jdkInTag matches the number of a JDK in the tag of an image for something that needs one.
	jdkInTag = lazyregexp.New(`(?:temurin|openjdk|jdk|corretto|zulu|ibmjava|sapmachine)-?(\d+)`)
)

// toolOf are the languages whose version is that of an image, by its name.
var toolOf = map[string]string{"golang": "go", "node": "node", "python": "python", "ruby": "ruby", "php": "php", "rust": "rust",
	"elixir": "elixir", "eclipse-temurin": "java", "openjdk": "java", "amazoncorretto": "java", "mcr.microsoft.com/dotnet/sdk": "dotnet"}

// toolOfDevImage are the same of Microsoft's images for dev containers.
var toolOfDevImage = map[string]string{"go": "go", "javascript-node": "node", "typescript-node": "node", "python": "python",
	"ruby": "ruby", "php": "php", "rust": "rust", "java": "java", "dotnet": "dotnet"}

// Version returns the language of an image and its version, as its tag says them; nil when that is not known. The tags of Microsoft's
// images may have the image's own version in front: 1-3.12.
func Version(image string) (tool string, version Number) {
	name, tag := split(image)
	if strings.Contains(image, "$") || tag == "" {
		return "", nil
	}
	if name == "maven" || name == "gradle" {
		if m := jdkInTag.FindStringSubmatch(tag); m != nil {
			return "java", ParseNumber(m[1])
		}
		return "", nil
	}
	if tool = toolOf[name]; tool != "" {
		return tool, ParseNumber(tag)
	}
	if tool = toolOfDevImage[microsoft(name)]; tool == "" {
		return "", nil
	}
	first, rest, _ := strings.Cut(tag, "-")
	if second := ParseNumber(rest); second != nil || first == "dev" {
		return tool, second
	}
	return tool, ParseNumber(first)
}
