# Reads lines of JSON {"source", "back"}, two files each, and answers each with {"result", "detail"}: equal, differs, or
# none where Pillow has no reference. Where "back" is empty, it says what Pillow does with the source: reads, warns,
# refuses, or none where it is of a format that imageio does not have. Package corpora says what is compared.
import json
import sys
import warnings

from PIL import Image, ImageChops, ImageOps, ImageSequence, PngImagePlugin, UnidentifiedImageError

# The process has limits of its own.
Image.MAX_IMAGE_PIXELS = None
PngImagePlugin.MAX_TEXT_CHUNK = PngImagePlugin.MAX_TEXT_MEMORY = 1 << 30
warnings.simplefilter("ignore")


# What Pillow calls the formats of imageio.
FORMATS = ("BMP", "GIF", "JPEG", "JPEG2000", "MPO", "PNG", "PPM", "TIFF", "WEBP")


class NoReference(Exception):
    pass


def canonical(frame):
    frame = ImageOps.exif_transpose(frame)
    if frame.mode.startswith("I"):
        return frame.convert("I")
    if frame.mode not in ("1", "L", "LA", "P", "PA", "RGB", "RGBA"):
        raise NoReference("mode " + frame.mode)
    frame = frame.convert("RGBA")
    seen = frame.getchannel("A").point(lambda a: 255 if a else 0)
    return Image.composite(frame, Image.new("RGBA", frame.size), seen)


# The tags of TIFF.
REDUCED, BITS, PLANAR, EXTRA = 254, 258, 284, 338


def frames(path):
    with Image.open(path) as file:
        if file.format == "GIF" and file.tile and file.tile[0][1] != (0, 0) + file.size:
            raise NoReference("a GIF whose first frame leaves a part of the canvas free, which Pillow fills")
        animated = getattr(file, "is_animated", False)
        if file.format == "PNG" and file.mode in ("L", "RGB", "I;16") and "transparency" in file.info:
            if animated:
                raise NoReference("a PNG with frames and tRNS, which Pillow leaves out when it draws frames over each other")
            if file.mode == "I;16" or file.tile and file.tile[0][3] in ("L;2", "L;4"):
                raise NoReference("a PNG of grey with tRNS, which Pillow compares with 8-bit samples, whatever their depth")
        if file.format == "TIFF":
            if file.tag_v2.get(PLANAR) == 2 and file.tag_v2.get(BITS, (1,))[0] == 16:
                raise NoReference("a TIFF with planes of 16 bits, which Pillow takes for planes of 8")
            if file.tag_v2.get(EXTRA, (0,))[0] == 1 and file.tag_v2.get(BITS, (1,))[0] == 16:
                raise NoReference("a TIFF of 16 bits whose alpha Pillow divides out of the upper 8")
            return pages(file)
        if file.format == "JPEG2000" and file.mode == "P":
            raise NoReference("a JPEG 2000 file with a palette, whose channels Pillow does not put in order")
        if file.format == "JPEG2000" and file.mode in ("RGB", "RGBA") and subsampled(path):
            raise NoReference("JPEG 2000 with sub-sampled components, which Pillow takes for YCbCr or leaves out")
        if file.format == "JPEG2000" and file.mode.startswith("I"):
            return [shifted(canonical(file), path)]
        if file.format == "MPO":
            return [canonical(file)]
        # Pillow counts a picture that is not a part of the animation as the first frame.
        first = 1 if animated and file.info.get("default_image") else 0
        return [canonical(frame.copy()) for frame in ImageSequence.Iterator(file)][first:]


# Where the main header of a JPEG 2000 codestream begins, in its first part.
def codestream(path):
    with open(path, "rb") as file:
        data = file.read(1 << 20)
    return data[max(0, data.find(b"\xff\x4f\xff\x51")) :]


def subsampled(path):
    head = codestream(path)
    components = int.from_bytes(head[40:42], "big")
    return any(head[43 + 3 * i : 45 + 3 * i] != b"\1\1" for i in range(min(components, 4)))


# Pillow has moved the samples to the upper bits of 16, and signed ones by half of their range.
def shifted(frame, path):
    ssiz = codestream(path)[42]
    bits = (ssiz & 127) + 1
    if ssiz > 127:
        raise NoReference("JPEG 2000 with signed samples")
    return spread(frame.point(lambda v: v * (1 / 2 ** (16 - bits))), bits)


# As the PNG file has them that comes back.
def spread(frame, bits):
    return frame.point(lambda v: v * (65535 / (2**bits - 1)) + 0.5)


def pages(file):
    result = []
    for page in ImageSequence.Iterator(file):
        if result and page.tag_v2.get(REDUCED, 0) & 1:
            continue
        bits = page.tag_v2.get(BITS, (1,))[0]
        samples = canonical(page.copy())
        if 8 < bits < 16 and samples.mode == "I":
            samples = spread(samples, bits)
        result.append(samples)
    return result


def reference(path):
    try:
        return frames(path)
    except NoReference:
        raise
    except Exception as e:  # Pillow's plugins raise what they like for damaged files.
        raise NoReference(f"{type(e).__name__}: {e}")


# How far samples may be apart, by formats whose decoders round in their own ways.
def slack(path):
    with Image.open(path) as file:
        if file.format == "TIFF" and file.tag_v2.get(EXTRA, (0,))[0] == 1:
            return 2  # colours out of which alpha was divided
        if file.format == "PPM" and file.mode == "RGB":
            return 1  # of 16 bits
        if file.format != "JPEG2000":
            return 0
    head = codestream(path)
    cod = head.find(b"\xff\x52")
    if head[cod + 13 : cod + 14] == b"\0":
        return 2  # the 9/7 wavelet
    return 0


def compare(source, back):
    with open(source, "rb") as file:
        if file.read(132)[128:] == b"DICM":
            raise NoReference("DICOM behind a TIFF header, whose samples have another meaning")
    want = reference(source)
    try:
        got = frames(back)
    except Exception as e:
        with open(back, "rb") as file:
            head = file.read(132)
        if head[128:] == b"DICM" or head[:2] == b"P7" or head[:2] == b"II" and isinstance(e, UnidentifiedImageError):
            raise NoReference("DICOM, PAM, or a TIFF with signed colours")
        return f"cannot be read back: {type(e).__name__}: {e}"
    if len(want) != len(got):
        return f"{len(got)} frames, Pillow has {len(want)}"
    for i, (w, g) in enumerate(zip(want, got)):
        if w.mode != g.mode:
            return f"frame {i}: samples as {g.mode}, Pillow has {w.mode}"
        if w.size != g.size:
            return f"frame {i}: {g.size}, Pillow has {w.size}"
        if w.tobytes() == g.tobytes():
            continue
        if w.mode == "I":
            apart = max(abs(a - b) for a, b in zip(w.getdata(), g.getdata()))
            if apart <= 17 * slack(source):  # a step of 12 bits among 16
                continue
            return f"frame {i}: values of {g.getextrema()}, Pillow has {w.getextrema()}"
        difference = ImageChops.difference(w, g)
        if max(high for _, high in difference.getextrema()) <= slack(source):
            continue
        return f"frame {i}: by up to {[high for _, high in difference.getextrema()]} in {difference.getbbox(alpha_only=False)}"
    return ""


def outcome(source):
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with Image.open(source) as file:
                if file.format not in FORMATS:
                    return "none", file.format
                for frame in ImageSequence.Iterator(file):
                    frame.load()
                read = f"{file.format} as {file.mode}"
        except Exception as e:
            return "refuses", f"{type(e).__name__}: {e}".replace(source, "it")
    return ("warns", str(warned[0].message)) if warned else ("reads", read)


for line in sys.stdin:
    pair = json.loads(line)
    try:
        if pair["back"]:
            detail = compare(pair["source"], pair["back"])
            result = "differs" if detail else "equal"
        else:
            result, detail = outcome(pair["source"])
    except NoReference as e:
        result, detail = "none", str(e)
    print(json.dumps({"result": result, "detail": detail}), flush=True)
