package credproxy

import (
	"regexp"
	"strings"

	"github.com/org/claude-sandbox/credproxy/spending"
)

// price is what a model's tokens cost, in US dollars for a million.
type price struct {
	input, output, write5m, write1h, read float64
}

// webSearchUSD is what one search at the provider costs.
const webSearchUSD = 0.01

// prices are the list prices of the provider's own API, by model, as Claude Code
// 2.1.329 (19 November 2026) holds them to compute its own cost. One lookup
// keeps the two words about a run comparable.
var prices = map[string]price{
	"claude-3-5-haiku":  {0.8, 4, 1, 1.6, 0.08},
	"claude-haiku-4-5":  {1, 5, 1.25, 2, 0.1},
	"claude-haiku-5-5":  {0.5, 2.5, 0.625, 1, 0.05}, // of prompts above 100,000 tokens, which is the dearer
	"claude-3-5-sonnet": {3, 15, 3.75, 6, 0.3},
	"claude-3-7-sonnet": {3, 15, 3.75, 6, 0.3},
	"claude-sonnet-4":   {3, 15, 3.75, 6, 0.3},
	"claude-sonnet-4-0": {3, 15, 3.75, 6, 0.3},
	"claude-sonnet-4-5": {3, 15, 3.75, 6, 0.3},
	"claude-sonnet-4-6": {3, 15, 3.75, 6, 0.3},
	"claude-sonnet-5":   {2, 10, 2.5, 4, 0.2},
	"claude-sonnet-5-5": {2, 10, 2.5, 4, 0.1},
	"claude-opus-4":     {15, 75, 18.75, 30, 1.5},
	"claude-opus-4-0":   {15, 75, 18.75, 30, 1.5},
	"claude-opus-4-1":   {15, 75, 18.75, 30, 1.5},
	"claude-opus-4-5":   {5, 25, 6.25, 10, 0.5},
	"claude-opus-4-6":   {5, 25, 6.25, 10, 0.5},
	"claude-opus-4-7":   {5, 25, 6.25, 10, 0.5},
	"claude-opus-4-8":   {5, 25, 6.25, 10, 0.5},
	"claude-opus-5":     {5, 25, 6.25, 10, 0.5},
	"claude-opus-5-5":   {4, 20, 5, 8, 0.2},
	"claude-fable-5":    {10, 50, 12.5, 20, 1},
	"claude-fable-5-1":  {10, 50, 12.5, 20, 0.25},
	"claude-fable-5-2":  {8, 40, 10, 16, 0.2},
	"claude-mythos-5":   {10, 50, 12.5, 20, 1},
	"claude-mythos-5-1": {10, 50, 12.5, 20, 0.25},
	"claude-mythos-5-2": {8, 40, 10, 16, 0.2},
}

// dearest is the price of a model that the table does not name: another
// family's, or a gateway's own name. It is the highest of the table, so that a
// budget ends such a run too early and never too late.
var dearest = price{15, 75, 18.75, 30, 1.5}

// priceOf finds a model by its name at the provider itself, at Amazon Bedrock
// ("us.anthropic.claude-sonnet-4-5-20250929-v1:0"), at Google's Vertex AI
// ("claude-sonnet-4-5@20250929") and at gateways ("anthropic/claude-sonnet-4.5").
func priceOf(model string) price {
	name := model[strings.LastIndexByte(model, '/')+1:]
	_, ofBedrock, isBedrock := strings.Cut(name, "anthropic.")
	if isBedrock {
		name = bedrockVersion.ReplaceAllString(ofBedrock, "")
	}
	name, isDefault := strings.CutSuffix(name, "@default")
	p, ok := prices[spending.WithoutVersion(strings.ReplaceAll(name, ".", "-"))]
	switch {
	case !ok && strings.ContainsAny(model, "/:@."): // it may be of one region, too
		return dearest.times(regional)
	case !ok:
		return dearest
	case isBedrock, isDefault, strings.Contains(name, "@"):
		return p.times(regional)
	}
	return p
}

// bedrockVersion ends the names of Bedrock.
var bedrockVersion = regexp.MustCompile(`-v[0-9]+(:[0-9a-z]+)*$`)

// regional is what Bedrock and Vertex AI ask for an endpoint of one region, as a part of the
// list price: the most that they ask for a model.
const regional = 1.1

func (p price) times(f float64) price {
	return price{p.input * f, p.output * f, p.write5m * f, p.write1h * f, p.read * f}
}

// costUSD is what spent costs. Tokens written to the cache without a word on
// how long they stay cost what the longer time does.
func (p price) costUSD(spent tokens) float64 {
	long := max(spent.CacheWrite-spent.write5m, 0)
	return (float64(spent.Input)*p.input+float64(spent.Output)*p.output+float64(spent.CacheRead)*p.read+
		float64(spent.CacheWrite-long)*p.write5m+float64(long)*p.write1h)/1e6 + float64(spent.searches)*webSearchUSD
}
