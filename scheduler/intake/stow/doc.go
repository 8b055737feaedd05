// Package stow receives DICOM instances over HTTP: the Store transaction of DICOMweb (STOW-RS, PS3.18, 10.5).
//
//	POST /studies            instances of any studies
//	POST /studies/UID        instances of one study; others are refused
//
// also behind any other path, such as /dicom-web/studies. The body is multipart/related; type="application/dicom": a
// part an instance, as a file of PS3.10 in any transfer syntax, which is stored as it was sent.
//
// # Answers
//
//	200  all instances are safe
//	202  some are; the answer names the others, with a reason
//	400  the body is malformed; parts before the fault may have been stored
//	401  no token, or one that is not known
//	409  none is taken
//	413  the body is larger than allowed
//	415  another media type, or an encoding of the content
//	503  with Retry-After: there is no room, or too many clients; before the body is read where its length tells
//
// The answer of 200, 202 and 409 is application/dicom+json, as PS3.18, I.2 asks. An instance that is there already is a
// success; one with the UID of another and other bytes too, because both are kept.
package stow
