// Package api serves the jobs of a scheduler over HTTP: JSON under /v1, described by openapi.yaml, with errors as
// application/problem+json (RFC 9457) and the progress of a job as server-sent events.
//
// # Reading
//
// However many clients read, storage and Redis see one reader: a job that somebody asks for is looked at once a second,
// and every answer and every stream of events is made of the newest look. Lists are kept for [listFresh]. Nobody asking
// means that nothing is looked at.
//
// # Changing
//
// What is wanted of a job is written into its folder, as the command line does it; whichever scheduler leads the job obeys.
// Such answers are 202 with the job as it is now. A job cannot be changed that has ended, which is 409; If-Match with the
// ETag of GET /v1/jobs/{id} makes it 412 where state, wish or settings are others meanwhile. A submission with an
// Idempotency-Key can be repeated.
//
// # Who may do what
//
// Without tokens and client certificates everybody who reaches the listener may do everything, so it then listens on
// loopback only and answers only to names of loopback. With them a client has a role: read, or operate, which changes things.
// Sources and targets must be places that the scheduler may open, see storage.Policy; nothing else is opened, resolved
// or requested. Options of codecs name no file of the scheduler's machine.
package api
