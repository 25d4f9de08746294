package firewall

import (
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// rented are domains below which everybody can rent a host, and that are no
// public suffixes themselves but stand above some. The public suffix list knows
// the others, such as github.io. Sources: the list's own private section, and
// the providers' documentation of their endpoints.
var rented = []string{
	"akamai.net", "akamaized.net", "aliyuncs.com", "amazonaws.com", "appspot.com", "aws.dev", "azure.com", "azure.net",
	"azureedge.net", "azurefd.net", "azurewebsites.net", "backblazeb2.com", "cloudflarestorage.com", "cloudfront.net",
	"core.windows.net", "digitaloceanspaces.com", "fastly.net", "firebaseio.com", "googleapis.com",
	"googleusercontent.com", "linodeobjects.com", "my.salesforce.com",
	"on.aws", "oraclecloud.com", "ovh.net", "scw.cloud", "supabase.co", "trafficmanager.net", "visualstudio.com",
	"wasabisys.com", "windows.net", "workers.dev",
}

// rentedBy returns the domain with everybody's hosts that the wildcard over
// name covers, and whether there is one. An attacker who rents a host there can send
// data to himself past any list.
func rentedBy(name string) (string, bool) {
	if suffix, icann := publicsuffix.PublicSuffix(name); suffix == name && !icann && strings.Contains(name, ".") {
		return name, true
	}
	i := slices.IndexFunc(rented, func(r string) bool {
		return r == name || strings.HasSuffix(r, "."+name)
	})
	if i < 0 {
		return "", false
	}
	return rented[i], true
}
