package class

// Meaning says in a few words what a class stands for; it is empty for one that this
// version does not know.
func Meaning(class string) string { return meanings[class] }

var meanings = map[string]string{
	Malformed: "the source is damaged",
	Limit:     "the source is over a limit",
	Format:    "no reader for this kind of file",
	Image:     "the codec does not take such a picture",
	Missing:   "the source no longer exists",
	Key:       "no object can have this name",
	Changed:   "the source kept changing while it was read",
	Storage:   "storage failed after retries",
	Exists:    "the target holds something that is not ours",
	Verify:    "the result did not decode to its picture, so it was not stored",
	Quality:   "the result was below the floor of quality, so it was not stored",
	Codec:     "the codec failed",
	Crash:     "the object ended worker processes",
	Timeout:   "the codec did not end in time",
	Device:    "the device failed",
	View:      "the file holds no such part or resolution of its picture",
}
