package corpora

import (
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Project is a public repository with images.
type Project struct {
	Name   string // owner/name on GitHub
	Commit string // whose files the exceptions were found with; empty: none were looked at yet
	Images string // folder of the images; empty: the whole repository
}

// Projects are those that "make corpora" looks for.
var Projects = []Project{
	{"corkami/pics", "", ""},
	{"etemesi254/zune-image", "", "test-images"},
	{"golang/go", "", "src/image"},
	{"golang/image", "981eaa05a5065f5dd09c3139029c0d7dbda956d8", "testdata"},
	{"google/wuffs", "2560db99aa19c524880b56b0119cd8e979597490", "test/data"},
	{"haraldk/TwelveMonkeys", "41aaf3b1bc7fe8144b3bbd16c62d13a559feb7c5", "imageio"},
	{"image-rs/image", "", "tests"},
	{"image-rs/image-png", "4f873e4a628c0e8dbb4204fb263697298f89eb01", "tests"},
	{"image-rs/jpeg-decoder", "eb2d7c0f6a2d0298aba7a7f8b9ca1440353e8f8c", "tests"},
	{"lecram/gifdec", "", ""},
	{"libjpeg-turbo/libjpeg-turbo", "8a99315babe7fe946bef539c125f26b9e6aad8ab", "testimages"},
	{"libvips/libvips", "", "test/test-suite/images"},
	{"nothings/stb", "", "tests"},
	{"pnggroup/libpng", "", "contrib"},
	{"pydicom/pydicom-data", "", "data_store"},
	{"python-pillow/Pillow", "4e5f09f533dbd0d87d39951f48b62f4d1a421cba", "Tests/images"},
	{"uclouvain/openjpeg-data", "", "input"},
}

// dir is the folder of the project's images below a folder of projects, or false if it is not there.
func (p Project) dir(folder string) (string, bool) {
	for _, name := range []string{strings.ReplaceAll(p.Name, "/", "+"), path.Base(p.Name)} {
		dir := filepath.Join(folder, name, filepath.FromSlash(p.Images))
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, true
		}
	}
	return "", false
}

// Exception is a finding that is right as it is.
type Exception struct {
	Project string
	Path    string // of the file below the project's images, as path.Match has it
	Kind    string // of the finding
	Reason  string
}

// Exceptions are those of Projects.
var Exceptions = []Exception{
	{"google/wuffs", "peacock.progressive.scan0*.jpeg", "pixels", smoothing},
	{"python-pillow/Pillow", "12bit.cropped.tif", "pixels", scaled},
	{"python-pillow/Pillow", "9bit.j2k", "pixels", scaled},
	{"python-pillow/Pillow", "apng/blend_op_over_near_transparent.png", "pixels", blended},
	{"python-pillow/Pillow", "apng/mode_16bit.png", "pixels", blended},
	{"python-pillow/Pillow", "apng/mode_grayscale_alpha.png", "pixels", blended},
	{"python-pillow/Pillow", "apng/mode_palette_1bit_alpha.png", "pixels", blended},
	{"python-pillow/Pillow", "apng/dispose_op_previous*.png", "pixels", "Pillow has another last frame when it was asked for the earlier ones than without; imageio has that of its own tests"},
	{"python-pillow/Pillow", "apng/single_frame_default.png", "pixels", beside},
	{"python-pillow/Pillow", "apng/split_fdat*.png", "pixels", beside},
	{"python-pillow/Pillow", "apng/syntax_num_frames_low.png", "pixels", beside},
	{"python-pillow/Pillow", "balloon.jpf", "pixels", "JPEG 2000 with the 9/7 wavelet and the irreversible colour transform, whose results are not the same in all decoders: 1 apart"},
	{"python-pillow/Pillow", "dispose_bgnd*.gif", "pixels", background},
	{"python-pillow/Pillow", "*.mpo", "pixels", "imageio reads the JPEG image at the beginning, Pillow the other ones behind it too"},
}

// Reasons of several exceptions.
const (
	smoothing  = "a progressive file without its last scans: imageio gives djpeg 2.1's pixels, Pillow's libjpeg-turbo 3 smooths blocks otherwise"
	scaled     = "samples of 9 to 15 bits, which the PNG file that comes back has spread over 16 bits by another rule than Pillow"
	blended    = "a frame drawn over another one (APNG_BLEND_OP_OVER): Pillow mixes the alphas too, and makes opaque pixels transparent"
	beside     = "an animation of one frame beside the image: imageio reads the image and its note says so, Pillow reads the frame"
	background = "a frame that is replaced by the background: imageio clears it as browsers do, Pillow fills it with a colour of the palette"
)

// reason is why a finding is right as it is, or empty.
func (f Finding) reason(exceptions []Exception) string {
	for _, e := range exceptions {
		if ok, _ := path.Match(e.Path, f.Path); ok && e.Project == f.Project && e.Kind == f.Kind {
			return e.Reason
		}
	}
	return ""
}
