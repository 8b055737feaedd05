# Reads lines of JSON {"source", "back"}, two files each, and answers each with {"result", "detail"}: equal, differs, or
# none where Pillow has no reference. Package corpora says what is compared.
import json
import sys
import warnings

from PIL import Image, ImageChops, ImageOps, ImageSequence

warnings.simplefilter("ignore")


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


def frames(path):
    with Image.open(path) as file:
        if file.format == "GIF" and file.tile and file.tile[0][1] != (0, 0) + file.size:
            raise NoReference("a GIF whose first frame leaves a part of the canvas free, which Pillow fills")
        animated = getattr(file, "is_animated", False)
        if file.format == "PNG" and animated and file.mode in ("L", "RGB") and "transparency" in file.info:
            raise NoReference("a PNG with frames and tRNS, which Pillow leaves out when it draws frames over each other")
        # Pillow counts a picture that is not a part of the animation as the first frame.
        first = 1 if animated and file.info.get("default_image") else 0
        return [canonical(frame.copy()) for frame in ImageSequence.Iterator(file)][first:]


def reference(path):
    try:
        return frames(path)
    except NoReference:
        raise
    except Exception as e:  # Pillow's plugins raise what they like for damaged files.
        raise NoReference(f"{type(e).__name__}: {e}")


def compare(source, back):
    want = reference(source)
    try:
        got = frames(back)
    except Exception as e:
        with open(back, "rb") as file:
            if file.read(132)[128:] == b"DICM":
                raise NoReference("DICOM")
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
            return f"frame {i}: values of {g.getextrema()}, Pillow has {w.getextrema()}"
        difference = ImageChops.difference(w, g)
        return f"frame {i}: by up to {[high for _, high in difference.getextrema()]} in {difference.getbbox(alpha_only=False)}"
    return ""


for line in sys.stdin:
    pair = json.loads(line)
    try:
        detail = compare(pair["source"], pair["back"])
        answer = {"result": "differs" if detail else "equal", "detail": detail}
    except NoReference as e:
        answer = {"result": "none", "detail": str(e)}
    print(json.dumps(answer), flush=True)
