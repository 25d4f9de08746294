package devcontainer

// supplyRules judge where images, Features and programs come from.
var supplyRules = []Rule{}
