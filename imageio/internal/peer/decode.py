# Decodes codestreams from standard input and writes their samples to standard output, both with the length before each as
# four bytes, big-endian; a stream that is refused has the length 2^32-1. The argument is the decoder. Streams of RLE begin
# with their shape.
import struct, sys, warnings
warnings.simplefilter("ignore")

def decoder(name):
    if name == "libjpeg":
        import libjpeg
        return libjpeg.decode
    if name == "charls":
        import jpeg_ls, numpy
        return lambda b: jpeg_ls.decode(numpy.frombuffer(b, dtype="u1"))
    if name == "pydicom-rle" or name == "pylibjpeg-rle":
        def rle(b):
            rows, columns, samples, bits = struct.unpack(">4I", b[:16])
            if name == "pylibjpeg-rle":
                import numpy
                from rle.rle import decode_frame
                planar = bytes(decode_frame(b[16:], rows * columns, bits, "<"))
            else:
                from pydicom.pixels.decoders.rle import _rle_decode_frame
                planar = bytes(_rle_decode_frame(b[16:], rows, columns, samples, bits))
            import numpy
            kind = "<u%d" % (bits // 8)
            return numpy.ascontiguousarray(numpy.frombuffer(planar, kind).reshape(samples, rows * columns).T)
        return rle
    import imagecodecs
    return getattr(imagecodecs, name + "_decode")

decode = decoder(sys.argv[1])
src, dst = sys.stdin.buffer, sys.stdout.buffer
while head := src.read(4):
    data = src.read(struct.unpack(">I", head)[0])
    try:
        out = decode(data)
        out = out.astype(out.dtype.newbyteorder("<")).tobytes()
        dst.write(struct.pack(">I", len(out)) + out)
    except Exception as e:
        sys.stderr.write("%r\n" % e)
        dst.write(b"\xff\xff\xff\xff")
    dst.flush()
