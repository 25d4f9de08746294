package imagebuild

import (
	"context"
	"io"
	"log"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
)

func TestWhatARegistrySaysWithoutLayers(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	ref := strings.TrimPrefix(server.URL, "http://") + "/a/b:1"
	img, err := mutate.Config(empty.Image, v1.Config{User: "u", Labels: map[string]string{"devcontainer.metadata": "[]"}})
	if err != nil {
		t.Fatal(err)
	}
	push := func(img v1.Image) {
		t.Helper()
		parsed, err := name.ParseReference(ref)
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(parsed, img); err != nil {
			t.Fatal(err)
		}
	}
	push(img)
	config, err := RemoteConfig(context.Background(), offline(), ref)
	if err != nil || config.User != "u" || config.Labels["devcontainer.metadata"] != "[]" {
		t.Errorf("%+v %v", config, err)
	}
	if _, err := FeatureMetadata(context.Background(), offline(), ref); err == nil || !strings.Contains(err.Error(), "does not repeat") {
		t.Errorf("an image that is no Feature: %v", err)
	}
	push(mutate.Annotations(img, map[string]string{"dev.containers.metadata": `{"id": "b"}`}).(v1.Image))
	if text, err := FeatureMetadata(context.Background(), offline(), ref); err != nil || string(text) != `{"id": "b"}` {
		t.Errorf("%s %v", text, err)
	}
	if _, err := RemoteConfig(context.Background(), offline(), ref+"0"); err == nil {
		t.Error("a tag that is not there")
	}
}

// A file in a registry is the one that its digest stands for, and no larger than asked.
func TestSingleFile(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	defer server.Close()
	repo := strings.TrimPrefix(server.URL, "http://") + "/a/policy"
	push := func(files ...string) (ref string) {
		t.Helper()
		img := empty.Image
		for _, text := range files {
			var err error
			if img, err = mutate.AppendLayers(img, static.NewLayer([]byte(text), "application/json")); err != nil {
				t.Fatal(err)
			}
		}
		parsed, err := name.ParseReference(repo + ":1")
		if err != nil {
			t.Fatal(err)
		}
		if err := remote.Write(parsed, img); err != nil {
			t.Fatal(err)
		}
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		return repo + "@" + digest.String()
	}
	first := push(`{"mounts": {}}`)
	two := push("a", "b")
	if text, err := SingleFile(context.Background(), offline(), first, 100); err != nil || string(text) != `{"mounts": {}}` {
		t.Errorf("after the tag moved: %s %v", text, err)
	}
	if _, err := SingleFile(context.Background(), offline(), two, 100); err == nil || !strings.Contains(err.Error(), "2 files") {
		t.Errorf("two files: %v", err)
	}
	if _, err := SingleFile(context.Background(), offline(), first, 5); err == nil || !strings.Contains(err.Error(), "more than 5") {
		t.Errorf("a large file: %v", err)
	}
	if _, err := SingleFile(context.Background(), offline(), repo+"@sha256:"+strings.Repeat("0", 64), 100); err == nil {
		t.Error("a digest that is not there")
	}
}
