// Package storage opens buckets by URL and reads, writes and lists them so that nothing is lost.
//
// A [Bucket] is a gocloud.dev bucket; whatever that package offers can be used on it. The functions of this
// package are the ones the rest of pelmill uses, because each closes a gap: [Put] creates an object once and
// proves what was stored, [Get] reads a whole object within a limit and notices that it changed, [Walk] lists
// in key order and can be continued by another process.
//
// # Buckets
//
// [Buckets.Open] takes a path or a URL; text after the bucket's name is a prefix that every key gets.
//
//	photos, ./photos, /srv/photos    a folder of this machine
//	file:///srv/photos               the same
//	mem://name                       memory of this process, shared by name within one Buckets
//	s3://bucket/prefix               S3 and what speaks it; ?endpoint= ?region= ?use_path_style= ?disable_https=
//	gs://bucket/prefix               Google Cloud Storage
//	azblob://container/prefix        Azure Blob Storage; ?storage_account= ?domain= ?protocol= ?localemu=
//
// Credentials come from where each vendor's own tools find them (environment, profile, metadata service) and
// never from the URL: [Canonical] drops what looks like one.
//
// Where a URL comes from somebody else, [Buckets].Allow holds a [Policy]: what it forbids is a [*NotAllowedError]
// before any request is made.
//
// # Guarantees
//
//   - An object appears whole or not at all. A cancelled or failed Put leaves nothing under the key.
//   - Put does not replace an object unless told to, and with IfMatch only the version that the caller has looked at,
//     also against concurrent writers in other processes. In a folder the writers of pelmill keep each other out with
//     flock(2) on .pelmill/replace.lock; S3 servers that ignore If-Match leave the moment between a look and the write.
//   - Put returns success only after the stored bytes were compared: by the checksum that the store itself
//     computed, or by reading them again.
//   - A folder never gets a file beside the results: temporary files live in .pelmill/tmp, on the same file
//     system, and are synced before they get their name. That of a new object has no name at all where the system has
//     such files, and is gone with its process. Others of a killed process are swept before the next
//     process writes its first object; a lock tells them from those of a process that lives. Where other machines
//     may write to the same file system, or locks are not to be had, they are swept after an hour.
//   - What is in a folder survives a loss of power when Put returns: file and folder are synced. Writers that name
//     files in one folder at the same time share its syncs.
//   - Errors that pass (throttling, 5xx, broken connections, short bodies) are retried inside with full jitter,
//     within the bounds of [Retry]; what comes out is for the caller to decide, by [IsNotExist], [Temporary],
//     [Unreachable], [Refused], [Full], [ErrChanged], [ExistsError] and [TooLargeError].
//
// # Keys of a folder
//
// A key is the path below the root with slashes. Bytes of a file name that are no UTF-8 are written as U+201B
// and two hexadecimal digits, and U+201B itself is doubled, as rclone does, so every file has exactly one key.
// Symbolic links inside the folder are not followed, neither to files nor to folders (rclone's default); the root
// itself may be one. Listing is in the byte order of full keys, so folder "a" sorts as "a/", after "a.png".
//
// # Limits
//
// Objects are read and written whole, from memory; the callers bound their size. Stores keep keys up to 1,024
// bytes; a folder keeps what its file system does. Folders have no object metadata: it is accepted and dropped.
// A process that is killed in an upload of more than 5 MB to S3 leaves the parts of an unfinished multipart upload,
// which no listing shows and which cost storage; a lifecycle rule of the bucket with AbortIncompleteMultipartUpload
// removes them. Two processes on different machines may write one folder over NFS as long as link(2) works there.
package storage
