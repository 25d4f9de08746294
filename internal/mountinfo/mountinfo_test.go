package mountinfo

import (
	"slices"
	"testing"
)

func TestParse(t *testing.T) {
	text := "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue\n" +
		`37 36 0:33 /a\040b\011c /w\012ork\134040s ro,nosuid - tmpfs tmpfs rw` + "\n" +
		"38 36 0:34 / /rota rw,errors=remount-ro shared:2 - tmpfs ro ro\n" +
		"\ncut 1 0:1 / /x\n" +
		`39 1 0:1 / /end\04 rw - x x rw`
	want := []Mount{
		{ID: "36", Device: "98:0", Root: "/mnt1", Point: "/mnt2", Type: "ext3"},
		{ID: "37", Device: "0:33", Root: "/a b\tc", Point: "/w\nork\\040s", ReadOnly: true, Type: "tmpfs"},
		{ID: "38", Device: "0:34", Root: "/", Point: "/rota", Type: "tmpfs"},
		{ID: "39", Device: "0:1", Root: "/", Point: `/end\04`, Type: "x"},
	}
	if got := slices.Collect(Parse(text)); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestContainer(t *testing.T) {
	const id = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for root, want := range map[string]string{
		"/var/lib/docker/containers/" + id + "/hostname":                                          id,
		"/docker/containers/" + id + "/resolv.conf":                                               id, // of a disk of its own
		"/home/u/.local/share/containers/storage/overlay-containers/" + id + "/userdata/hostname": id,
		"/containers/" + id[1:] + "/hostname":                                                     "",
		"/containers/" + id + "/mounts/secrets":                                                   "",
		"/":                                                                                       "",
	} {
		if got := Container("1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 8:1 " + root + " /etc/hostname rw - ext4 /dev/a rw\n"); got != want {
			t.Errorf("%s: %q", root, got)
		}
	}
	if got := Container("2 1 8:1 /containers/" + id + "/hostname /mnt/hostname rw - ext4 /dev/a rw\n"); got != "" {
		t.Errorf("a file that somebody mounted: %q", got)
	}
}
