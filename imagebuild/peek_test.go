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
