package devcontainer

// templateRules judge dev container Templates and what was made from them.
var templateRules = []Rule{}
