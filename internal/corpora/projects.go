package corpora

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
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
	{"Exiv2/exiv2", "e84cb9db060527416a43f3d257656331c85aff28", "test/data"},
	{"ImageMagick/ImageMagick", "b66b0750b973efc77b20ea0fc86de209b6746a72", "PerlMagick/t"},
	{"corkami/pics", "669facbb0b6a977f959ae6473b8346e98cf23f53", ""},
	{"drewnoakes/metadata-extractor-images", "4beba640487802442bc9931fb01274e908102d3a", ""},
	{"etemesi254/zune-image", "6ce19101ae6d2e3ca8d64067f95dfe58ddaf4344", "test-images"},
	{"exiftool/exiftool", "38bdbace3037a89d2c332664fc60bddad118958a", "t/images"},
	{"fo-dicom/fo-dicom", "1b92c5980a06a1906f4fbb362b4234b9003949de", "Tests/FO-DICOM.Tests/Test Data"},
	{"golang/go", "", "src/image"},
	{"golang/image", "981eaa05a5065f5dd09c3139029c0d7dbda956d8", "testdata"},
	{"google/wuffs", "2560db99aa19c524880b56b0119cd8e979597490", "test/data"},
	{"haraldk/TwelveMonkeys", "41aaf3b1bc7fe8144b3bbd16c62d13a559feb7c5", "imageio"},
	{"ianare/exif-samples", "5332a9cf0220e9c6c93f88a187daa90808051e10", ""},
	{"image-rs/image", "2c5368b8de2f76ae9d18bc0bcf2cd16c3164cefe", "tests"},
	{"image-rs/image-gif", "c1a6c4f18aec2884fe4fa7ce4fdbead92c975af1", "tests"},
	{"image-rs/image-png", "4f873e4a628c0e8dbb4204fb263697298f89eb01", "tests"},
	{"image-rs/image-tiff", "31919c7bfcd224143524499a4d51ea33664f7fba", "tests"},
	{"image-rs/image-webp", "f4d80bd965df2c81e65b6f43c1f70e0750bd4b0f", "tests"},
	{"image-rs/jpeg-decoder", "eb2d7c0f6a2d0298aba7a7f8b9ca1440353e8f8c", "tests"},
	{"imageio/test_images", "f676c96b1af7e04bb1eed1e4551e058eb2f14acd", ""},
	{"jsummers/bmpsuite", "555e43af40c330249234279b6d2bc6162370a2f0", "html"},
	{"lecram/gifdec", "1dcbae19363597314f6623010cc80abad4e47f7c", ""},
	{"libgd/libgd", "22d1379e649037b751e7053097b66f46b4942050", "tests"},
	{"libjpeg-turbo/libjpeg-turbo", "8a99315babe7fe946bef539c125f26b9e6aad8ab", "testimages"},
	{"libsdl-org/SDL_image", "48c54f3881fe917c020688ecb60875926fe51527", "test"},
	{"libvips/libvips", "29fd12021b279dee0d22223e11686f7d61dcd541", "test/test-suite/images"},
	{"lovell/sharp", "ea5bef24c187b2c7ee3fe3cad3b45c8cb67a46fd", "test/fixtures"},
	{"nipy/nibabel", "4704d904b1bd50edb4c2429db1ab8cecd3e4ec2a", "nibabel"},
	{"nothings/stb", "31c1ad37456438565541f4919958214b6e762fb4", "tests"},
	{"pnggroup/libpng", "d1d0abeffede1cc898ddc3d0e600839cf026d749", "contrib"},
	{"pydicom/pydicom", "fb1f24e4f0418008757766d8e79ec92dc2ab9855", "src/pydicom/data/test_files"},
	{"pydicom/pydicom-data", "b0d40d1e0a42c5696936043bbd8059984259cd33", "data_store"},
	{"python-pillow/Pillow", "4e5f09f533dbd0d87d39951f48b62f4d1a421cba", "Tests/images"},
	{"uclouvain/openjpeg-data", "a428429db695fccfc6d698bd13b6937dffd9d005", "input"},
	{"webmproject/libwebp-test-data", "05cd58b26e61385abd851aae60d26b6e3a769479", ""},
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
	Project string // empty: every one
	Path    string // of the file below the project's images, as path.Match has it; empty: every one
	Kind    string // of the finding
	Detail  string // what the finding's detail has in it, a regular expression; empty: whatever it is
	Reason  string
}

// Exceptions are those of Projects.
var Exceptions = []Exception{
	{"google/wuffs", "peacock.progressive.scan0*.jpeg", "pixels", "", smoothing},
	{"google/wuffs", "artificial-jpeg/hippopotamus-bad-comment-length.jpeg", "rejected", "", "a segment cannot be shorter than its length; libjpeg passes over a comment that is"},
	{"image-rs/image", "images/bmp/images/*V5_A8_R8_G8_B8_Rgb*.bmp", "pixels", "", alphaMask},
	{"image-rs/image", "images/bmp/images/lenient/V5_A8_R8_G8_B8_Rgb*.bmp", "pixels", "", alphaMask},
	{"image-rs/image", "images/png/apng/wpt/fcTL-dispose-in-region-previous.png", "pixels", "", previous},
	{"haraldk/TwelveMonkeys", "imageio-tiff/src/test/resources/tiff/a33.tif", "pixels", "", "an orientation of type BYTE, which libtiff and imageio follow and Pillow does not"},
	{"haraldk/TwelveMonkeys", "imageio-tiff/src/test/resources/tiff/scan-lzw-8bit-colormap.tiff", "pixels", "", "a colour map of 8 bits in 16: imageio gives libtiff's pixels, Pillow makes all black"},
	{"libgd/libgd", "gif/unitialized_memory_read.gif", "pixels", "", "indices beyond the palette, which imageio leaves transparent as browsers do, and Pillow makes black"},
	{"python-pillow/Pillow", "apng/blend_op_over_near_transparent.png", "pixels", "", blended},
	{"python-pillow/Pillow", "apng/mode_16bit.png", "pixels", "", blended},
	{"python-pillow/Pillow", "apng/mode_grayscale_alpha.png", "pixels", "", blended},
	{"python-pillow/Pillow", "apng/mode_palette_1bit_alpha.png", "pixels", "", blended},
	{"python-pillow/Pillow", "apng/dispose_op_previous*.png", "pixels", "", previous},
	{"python-pillow/Pillow", "iss634.apng", "pixels", "", previous},
	{"python-pillow/Pillow", "test_extents.gif", "pixels", "", "a frame beyond the canvas, which Pillow makes larger and imageio, as browsers do, does not"},
	{"python-pillow/Pillow", "tiff_wrong_bits_per_sample_3.tiff", "pixels", "", "a fourth sample of which the file does not say that it is alpha; imageio leaves it out with a note"},
	{"python-pillow/Pillow", "apng/single_frame_default.png", "pixels", "", beside},
	{"python-pillow/Pillow", "apng/split_fdat*.png", "pixels", "", beside},
	{"python-pillow/Pillow", "apng/syntax_num_frames_low.png", "pixels", "", beside},
	{"python-pillow/Pillow", "dispose_bgnd*.gif", "pixels", "", background},
	{"uclouvain/openjpeg-data", "conformance/file[27].jp2", "pixels", "", "sYCC, whose conversion Pillow leaves out or rounds otherwise"},
	{"uclouvain/openjpeg-data", "nonregression/Marrin.jp2", "pixels", "", "the 9/7 wavelet for opacity: where it is 1 or 0, the colours count or do not"},
	{"uclouvain/openjpeg-data", "nonregression/_00042.j2k", "pixels", "", "12 bits that Pillow cuts wrongly to 8; imageio and opj_decompress are 1 apart"},
	{"uclouvain/openjpeg-data", "nonregression/issue135.j2k", "pixels", "", "its second layer gives a code-block more than 65,535 bytes, at which FFmpeg stops; decoders read different noise there"},
	{"uclouvain/openjpeg-data", "nonregression/kodak_2layers_lrcp.j2c", "pixels", "", "its second layer is as that of issue135.j2k"},

	// Classes of files, of every project.
	{"", "", "rejected", "over the limit|encoded bytes ask for", "over a limit that keeps a hostile file from taking a worker's memory; the record says so"},
	{"", "", "rejected", "^pnm: .* bytes follow the picture", "bytes behind a picture may be samples of a wrong header"},
	{"", "", "rejected", "^jpeg2000: (component .* quantization steps|a code-block has more|the codestream has no tile|the file: its box ihdr)", "files that the standard forbids and whose samples are not all there; OpenJPEG shows what is left without a word"},
	{"", "", "unsupported", "^bmp: ", "16 bits, bit fields, run lengths, bytes between the palette and the pixels, and the headers of OS/2 and of versions 2 and 3, which imageio does not have"},
	{"", "", "unsupported", "Pillow reads PPM as F$", "PFM, whose samples are floating point, which imageio does not have"},
	{"", "", "unsupported", "^gif: a frame without colours", "a palette that is nowhere in the file: every viewer chooses other colours"},
	{"", "", "unsupported", "^jpeg2000: ", "colour spaces and sizes that the codec jpeg2000 does not have"},
	{"", "", "unsupported", "^jpeg: lossless JPEG", "the lossless process, which imageio has for DICOM only"},
	{"", "", "unsupported", "^png: it (needs chunks|uses)", "the author of the file says that it cannot be read without what nobody knows"},
	{"", "", "unsupported", "^tiff: page .* differs in shape", "pages of different shapes are no volume, and leaving some out would lose them"},
	{"", "", "unsupported", "^tiff: (compression|YCbCr|colour space|fax|inks|samples of|JPEG compression|lossless JPEG|its picture lies)", "kinds of TIFF that imageio does not have"},
}

// Reasons of several exceptions.
const (
	smoothing  = "a progressive file without its last scans: imageio gives djpeg 2.1's pixels, Pillow's libjpeg-turbo 3 smooths blocks otherwise"
	alphaMask  = "a version 5 header that has a mask for alpha and no bit fields: imageio takes the alpha, Pillow takes the file for opaque"
	blended    = "a frame drawn over another one (APNG_BLEND_OP_OVER): Pillow mixes the alphas too, and makes opaque pixels transparent"
	previous   = "Pillow has another frame when it was asked for the earlier ones than without; imageio has the latter"
	beside     = "an animation of one frame beside the image: imageio reads the image and its note says so, Pillow reads the frame"
	background = "a frame that is replaced by the background: imageio clears it as browsers do, Pillow fills it with a colour of the palette"
)

// reason is why a finding is right as it is, or empty.
func (f Finding) reason(exceptions []Exception) string {
	for _, e := range exceptions {
		if e.Kind != f.Kind || e.Project != "" && e.Project != f.Project {
			continue
		}
		if ok, _ := path.Match(e.Path, f.Path); !ok && e.Path != "" {
			continue
		}
		if regexp.MustCompile(e.Detail).MatchString(f.Detail) {
			return e.Reason
		}
	}
	return ""
}
