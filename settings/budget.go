package settings

import (
	"github.com/org/claude-sandbox/credproxy/spending"
)

func parseBudget(text string) (spending.Budget, *problem) {
	b, err := spending.Parse(text)
	if err != nil {
		return b, &problem{err.Error(), `write it as "20 usd/day", "500 requests/run" or "2M tokens/project-day claude-opus-*"`}
	}
	return b, nil
}

func checkModel(pattern string) *problem {
	if spending.IsModelPattern(pattern) {
		return nil
	}
	return &problem{quote(pattern) + " is no model's name", `such as "claude-sonnet-*"`}
}
