"""Compares DICOM files with their sources by pydicom: python dicom.py < lines of "source<TAB>result".

For each pair a line: "same", "same, pixels not compared: reason" where pydicom cannot decode the source, or what differs. Elements
are compared by tag and by the bytes of their values as far as both files have the same encoding, else by their values.
Samples are compared as they are stored, without any conversion of colours.
"""

import os
import sys
import warnings

import numpy
from pydicom import dcmread

warnings.filterwarnings("ignore")

FREE = {0x00280004, 0x00280006, 0x7FE00010, 0x7FE00001, 0x7FE00002}


def value(ds, tag):
    return ds.get_item(tag).value


def compare(a, b, verbatim, top=True):
    """Returns what differs between two data sets, None where nothing does."""
    ours = {t for t in a.keys() if verbatim or t & 0xFFFF}
    theirs = set(b.keys())
    if top:
        ours = {t for t in ours if t not in FREE and t not in (0x00280000, 0x7FE00000)}
        theirs -= FREE
    if ours != theirs:
        return "tags " + " ".join("%08x" % t for t in sorted(ours ^ theirs))
    for t in sorted(ours):
        x, y = value(a, t), value(b, t)
        if verbatim and isinstance(x, bytes | None) and isinstance(y, bytes | None):
            if x != y:
                return "bytes of %08x" % t
            continue
        x, y = a[t], b[t]
        if x.VR == "SQ" and y.VR == "SQ":
            if len(x.value) != len(y.value):
                return "items of %08x" % t
            for i, j in zip(x.value, y.value):
                wrong = compare(i, j, verbatim, False)
                if wrong:
                    return "%08x: %s" % (t, wrong)
        elif x.value != y.value and repr(x.value) != repr(y.value) and not turned(x, y):
            return "value of %08x" % t
    return None


WORDS = {"OW": 2, "OF": 4, "OL": 4, "OD": 8, "OV": 8}


def turned(x, y):
    """Whether two values of words, which pydicom leaves in the order of the file, are the same in little endian."""
    n = WORDS.get(x.VR, 0)
    if n == 0 or x.VR != y.VR or not isinstance(x.value, bytes) or len(x.value) % n:
        return False
    return b"".join(x.value[i : i + n][::-1] for i in range(0, len(x.value), n)) == y.value


def meta(a, b):
    changed = {0x00020000, 0x00020001, 0x00020002, 0x00020003, 0x00020010, 0x00020012, 0x00020013}
    for t in a.file_meta.keys():
        if t not in changed and a.file_meta[t].value != b.file_meta[t].value:
            return "file meta %08x" % t
    return None


def pair(source, result):
    a, b = dcmread(source), dcmread(result)
    verbatim = a.original_encoding == (False, True)
    wrong = meta(a, b) or compare(a, b, verbatim)
    if wrong:
        return wrong
    try:
        x = dcmread(source)
        x.pixel_array_options(raw=True)
        x = x.pixel_array
    except Exception as e:  # a source that pydicom does not decode says nothing
        return "same, pixels not compared: " + type(e).__name__
    y = dcmread(result)
    y.pixel_array_options(raw=True)
    y = y.pixel_array
    if x.shape != y.shape or x.dtype.itemsize != y.dtype.itemsize or not numpy.array_equal(x, y):
        return "pixels"
    return "same"


for line in sys.stdin:
    source, result = line.rstrip("\n").split("\t")
    try:
        print(pair(source, result))
    except Exception as e:
        print("error: %s: %s" % (type(e).__name__, str(e).replace("\n", " ")))
