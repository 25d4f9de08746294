package devcontainer

// dockerfileRules judge the Dockerfile that the configuration builds.
var dockerfileRules = []Rule{}
