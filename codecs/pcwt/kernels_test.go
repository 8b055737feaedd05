package pcwt

import (
	"testing"

	"github.com/pelmill/pelmill/codecs/pcwt/internal/constants"
	"github.com/pelmill/pelmill/gpu/gputest"
)

// shared is what Go and the kernels share.
var shared = gputest.Header{
	Include: "../../gpu/include/base.cuh",
	Constants: []gputest.Constant{
		{Name: "tile_width", Value: tileWidth, Note: "samples that a block of threads transforms"},
		{Name: "tile_height", Value: tileHeight},
		{Name: "tile_threads", Value: tileThreads},
		{Name: "group_threads", Value: groupThreads},
		{Name: "reader_threads", Value: readerThreads},
		{Name: "filter_53", Value: filter53},
		{Name: "filter_137", Value: filter137},
		{Name: "filter_2", Value: filter2, Note: "two taps, no update"},
		{Name: "error_group", Value: errorGroup, Note: "a group does not end where its elements do"},
		{Name: "error_tile", Value: errorTile, Note: "a tile's stream does not end as it must"},
		{Name: "error_range", Value: errorRange, Note: "a sample is not in its range"},
		{Name: "coder_threads", Value: coderThreads},
		{Name: "region_width", Value: regionWidth, Note: "positions of a level that a block of threads takes"},
		{Name: "region_height", Value: regionHeight},
		{Name: "region_threads", Value: regionThreads},
		{Name: "most_magnitude", Value: int32(8191), Note: "of a residual, in features"},
		{Name: "most_small", Value: int32(mostSmall), Note: "of values whose sums are not limited"},
		{Name: "textures", Value: constants.Textures},
		{Name: "directions", Value: constants.Directions},
		{Name: "contexts", Value: constants.Contexts, Note: "tables of a fraction"},
		{Name: "escape", Value: constants.Escape},
		{Name: "tokens", Value: constants.Tokens},
		{Name: "table_count", Value: constants.TableCount},
		{Name: "shared_tables", Value: sharedTables, Note: "bytes"},
		{Name: "fast_tables", Value: fastTables},
		{Name: "start_stride", Value: startStride, Note: "of the starts of a table's tokens"},
		{Name: "decoder_threads", Value: decoderThreads},
		{Name: "most_lanes", Value: mostLanes},
		{Name: "record_words", Value: recordWords, Note: "of a tile between its bands"},
		{Name: "log_bucket_slots", Value: logBucketSlots},
		{Name: "bucket_count", Value: bucketCount},
		{Name: "scale_zero", Value: scaleZero, Note: "the step where all features are 0"},
	},
	Structs: []gputest.Struct{
		{Name: "Picture", Value: devicePicture{}}, {Name: "Copy", Value: deviceCopy{}}, {Name: "Lift", Value: deviceLift{}}, {Name: "Level", Value: deviceLevel{}},
		{Name: "Band", Value: deviceBand{}}, {Name: "Group", Value: deviceGroup{}},
		{Name: "CodedGroup", Value: deviceCodedGroup{}}, {Name: "Tree", Value: deviceTree{}},
		{Name: "Set", Value: deviceSet{}}, {Name: "ModelBand", Value: deviceModelBand{}}, {Name: "Model", Value: deviceModel{}},
	},
}

func TestKernelsAreCompiled(t *testing.T) {
	gputest.Shared(t, "shared.cuh", shared)
	gputest.Kernels(t, "kernels.cu", 75)
}

// The table has all kernels, and each takes its parameters where the Go structs put them.
func TestKernelTable(t *testing.T) {
	if err := kernels.Check(); err != nil {
		t.Error(err)
	}
}
