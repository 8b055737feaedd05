// Package instances keeps DICOM instances that come over a network, so that a sender may be told that they are safe.
//
// # Where what is
//
// A [Store] has two buckets. The spool is the source of an intake; an instance becomes one object of it:
//
//	received/ABCD/UID-SERIES-DATA.dcm
//
// UID and SERIES are keyed hashes (HMAC-SHA-256) of the SOP and Series Instance UIDs, DATA is the SHA-256 of the transfer
// syntax and the data set, all cut to 32 hexadecimal digits; ABCD are the first four of UID. No value of an instance is
// in a key. The target of the intake has the rest:
//
//	.pelmill/intake/key                  what UIDs are hashed with, made once
//	.pelmill/intake/audit/DAY...jsonl    who sent what when, and what became of it
//	.pelmill/quarantine/REASON/NAME      what is not taken, byte for byte, and NAME.json beside it
//
// # Identity
//
// An instance that is there already, by UID, transfer syntax and every byte of its data set, is a success and nothing is
// written. One with the UID of another and other bytes is kept too, in quarantine under "conflict", until somebody
// releases or deletes it. Nothing is ever overwritten.
//
// # Durable
//
// [Store.Receive] returns after the bytes have been stored, read back and compared, and in a folder the file and the
// entries of its folders have been synced; and after the line of the audit trail has. What is killed before leaves
// nothing under a name, and its sender was told nothing.
//
// # Bounds
//
// [Options] has the most bytes of an instance and of all that the store keeps. What is larger than [inMemory] is staged
// in a file, so memory does not grow with instances.
package instances
