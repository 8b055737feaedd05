// Package dimse receives DICOM instances over associations (PS3.7, PS3.8): a Storage SCP with C-STORE and C-ECHO, and
// the SCP of the Storage Commitment Push Model (PS3.4, J).
//
// # What is accepted
//
// Any storage class, also private ones, in any transfer syntax: data sets are stored as they were sent, behind file meta
// information of ours, and not parsed beyond their UIDs. Of several transfer syntaxes of a context the first one is
// taken, but explicit VR little endian before implicit, which would lose value representations.
//
// # Who may send
//
// A [Server] listens on loopback, unless its peers are named: by AE title, and address where that is known. The AE title
// that is called is checked where the server has one. Others are rejected before they send anything. An AE title is no
// secret; TLS is for a proxy in front.
//
// # Statuses of C-STORE
//
//	0000  the instance is safe: it is stored, it was there already, or it is kept beside another one with its UID
//	A700  no room, or the store has failed: to be sent again
//	A900  another instance than the command says
//	C000  the data set cannot be parsed up to its UIDs, or is too large
//
// # Storage commitment
//
// Each instance is read and compared with the hash in its name when it is asked for. The result goes to the peer's
// address on a new association where it has one, and is tried again for a day; else on the association of the
// request. Results that were not delivered end with the process: peers ask again.
//
// # Bounds
//
// Of associations at once, of their time and the time between two PDUs, and of the lengths of PDUs, commands and data
// sets.
package dimse
