// Package notify sends signed webhooks: a CloudEvent in JSON with the headers of Standard Webhooks 1.0.
//
// # What is sent
//
// A POST with the headers webhook-id, the same in every attempt, webhook-timestamp, seconds since 1970 of the attempt, and
// webhook-signature: for each secret "v1," and the HMAC-SHA256 of id, timestamp and body, joined by dots, in base64,
// separated by spaces. The body is a CloudEvent 1.0 in structured mode, media type application/cloudevents+json.
//
// # What is not done
//
// No redirect is followed and no proxy is used. An address that is not public is connected to only if a prefix in
// [Options.Allow] has it, and so is one without TLS; the address is looked at when it is connected to, after its name was
// resolved. Neither a secret nor more of a URL than its host is in any error.
package notify
