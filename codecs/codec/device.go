package codec

import "github.com/pelmill/pelmill/gpu"

// DeviceCodec is implemented by codecs that have kernels.
type DeviceCodec interface {
	Codec

	// Modules are all kernels of the codec, those that an Encode begins with first: see
	// [gpu.Options].
	Modules() []*gpu.Module
}
