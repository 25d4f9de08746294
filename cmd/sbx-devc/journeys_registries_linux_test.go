package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"crypto/sha256"
	"fmt"
)

// serveStatic is a stand-in of a package registry: its files by HTTP, under the name that
// follows, on the journey's network.
const serveStatic = `serve() { docker run -d --network $NETWORK --network-alias $1 -v $PWD:/srv:ro node:22-bookworm-slim node -e '
	const fs = require("fs");
	require("http").createServer((q, r) => {
		const path = "/srv" + decodeURIComponent(q.url.split("?")[0]);
		for (const name of [path, path + "/index.html"]) {
			if (!fs.existsSync(name) || !fs.statSync(name).isFile()) continue;
			r.setHeader("Content-Type", name.endsWith(".html") ? "text/html" : name.includes("Packages(") ? "application/atom+xml" : ` +
	`"application/octet-stream");
			return r.end(fs.readFileSync(name));
		}
		r.statusCode = 404; r.end();
	}).listen(80)'; }; serve`

// wheel is a package of PyPI with its simple index.
func wheel() map[string][]byte {
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"hello.py", "def word():\n    return 'hello'\n"},
		{"hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello\nVersion: 1.0\n"},
		{"hello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"hello-1.0.dist-info/RECORD", "hello.py,,\nhello-1.0.dist-info/METADATA,,\nhello-1.0.dist-info/WHEEL,,\nhello-1.0.dist-info/RECORD,,\n"},
	} {
		w, _ := zw.Create(f[0]) // into memory
		_, _ = w.Write([]byte(f[1]))
	}
	_ = zw.Close()
	const name = "hello-1.0-py3-none-any.whl"
	return map[string][]byte{
		"simple/hello/index.html": []byte(`<!DOCTYPE html><a href="/files/` + name + `">` + name + `</a>`),
		"files/" + name:           out.Bytes(),
	}
}

// crate is a package of crates.io with its sparse index.
func crate() map[string][]byte {
	packed := zipped(tarred("hello-1.0.0/Cargo.toml", "[package]\nname = \"hello\"\nversion = \"1.0.0\"\nedition = \"2021\"\n",
		"hello-1.0.0/src/lib.rs", "pub const WORD: &str = \"hello\";\n"))
	return map[string][]byte{
		"index/config.json": []byte(`{"dl": "http://crates.test/dl"}`),
		"index/he/ll/hello": fmt.Appendf(nil, `{"name":"hello","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`+"\n",
			sha256.Sum256(packed)),
		"dl/hello/1.0.0/download": packed,
	}
}

// gem is a package of RubyGems with its compact index.
func gem() map[string][]byte {
	metadata := `--- !ruby/object:Gem::Specification
name: hello
version: !ruby/object:Gem::Version
  version: 1.0.0
platform: ruby
authors: [A]
bindir: bin
date: 2026-01-01 00:00:00.000000000 Z
dependencies: []
executables: []
extensions: []
extra_rdoc_files: []
files: [lib/hello.rb]
require_paths: [lib]
required_ruby_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
required_rubygems_version: !ruby/object:Gem::Requirement
  requirements:
  - - ">="
    - !ruby/object:Gem::Version
      version: '0'
rubygems_version: 3.3.0
specification_version: 4
summary: x
`
	packed := tarred("metadata.gz", string(zipped([]byte(metadata))), "data.tar.gz",
		string(zipped(tarred("lib/hello.rb", "HELLO = \"hello\"\n"))))
	info := fmt.Appendf(nil, "---\n1.0.0 |checksum:%x\n", sha256.Sum256(packed))
	return map[string][]byte{
		"versions":             fmt.Appendf(nil, "created_at: 2026-01-01T00:00:00Z\n---\nhello 1.0.0 %x\n", md5.Sum(info)),
		"info/hello":           info,
		"gems/hello-1.0.0.gem": packed,
	}
}

// composerPackage is a package of Composer with its repository.
func composerPackage() map[string][]byte {
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"hello/composer.json", `{"name": "acme/hello", "autoload": {"files": ["hello.php"]}}`},
		{"hello/hello.php", "<?php function hello() { return 'hello'; }\n"},
	} {
		w, _ := zw.Create(f[0]) // into memory
		_, _ = w.Write([]byte(f[1]))
	}
	_ = zw.Close()
	return map[string][]byte{
		"packages.json": []byte(`{"packages": {"acme/hello": {"1.0.0": {"name": "acme/hello", "version": "1.0.0",
			"autoload": {"files": ["hello.php"]}, "dist": {"type": "zip", "url": "http://packagist.test/hello.zip"}}}}}`),
		"hello.zip": out.Bytes(),
	}
}

// nupkg is a package of NuGet with its feed, in the protocol's second version.
func nupkg() map[string][]byte {
	var out bytes.Buffer
	zw := zip.NewWriter(&out)
	for _, f := range [][2]string{
		{"hello.nuspec", `<package xmlns="http://schemas.microsoft.com/packaging/2010/07/nuspec.xsd"><metadata><id>hello</id>` +
			`<version>1.0.0</version><authors>A</authors><description>x</description></metadata></package>`},
		{"content/Hello.cs", "class Hello { public const string Word = \"hello\"; }\n"},
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Default Extension="nuspec" ContentType="application/octet"/><Default Extension="cs" ContentType="application/octet"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="R1" ` +
			`Type="http://schemas.microsoft.com/packaging/2010/07/manifest" Target="/hello.nuspec"/></Relationships>`},
	} {
		w, _ := zw.Create(f[0]) // into memory
		_, _ = w.Write([]byte(f[1]))
	}
	_ = zw.Close()
	const feed, data = "http://nuget.test/api/v2/", "http://schemas.microsoft.com/ado/2007/08/dataservices"
	entry := `<?xml version="1.0" encoding="utf-8"?><entry xml:base="` + feed + `" xmlns="http://www.w3.org/2005/Atom" xmlns:d="` + data +
		`" xmlns:m="` + data + `/metadata"><id>` + feed + `Packages(Id='hello',Version='1.0.0')</id>` +
		`<category term="NuGetGallery.V2FeedPackage" scheme="` + data + `/scheme"/><title type="text">hello</title>` +
		`<updated>2026-01-01T00:00:00Z</updated><author><name>A</name></author>` +
		`<content type="application/zip" src="` + feed + `package/hello/1.0.0"/><m:properties><d:Id>hello</d:Id>` +
		`<d:Version>1.0.0</d:Version><d:Authors>A</d:Authors><d:Description>x</d:Description></m:properties></entry>`
	return map[string][]byte{
		"api/v2/index.html":                           []byte("a feed"),
		"api/v2/Packages(Id='hello',Version='1.0.0')": []byte(entry),
		"api/v2/package/hello/1.0.0":                  out.Bytes(),
	}
}

// tarred packs files, each after its name.
func tarred(namesAndTexts ...string) []byte {
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for i := 0; i < len(namesAndTexts); i += 2 {
		_ = tw.WriteHeader(&tar.Header{Name: namesAndTexts[i], Mode: 0o644, Size: int64(len(namesAndTexts[i+1])), Typeflag: tar.TypeReg})
		_, _ = tw.Write([]byte(namesAndTexts[i+1])) // into memory
	}
	_ = tw.Close()
	return out.Bytes()
}

func zipped(data []byte) []byte {
	var out bytes.Buffer
	zw := gzip.NewWriter(&out)
	_, _ = zw.Write(data) // into memory
	_ = zw.Close()
	return out.Bytes()
}
