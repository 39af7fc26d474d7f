// Package wire has the bodies of the HTTP interface: one struct for each request,
// answer, event and error. The tags of a field are its name in JSON, the rules that
// [Decode] holds a request to, and what openapi.json says of it.
//
//	root, err := jsonin.Parse(body, jsonin.Dots)
//	req := &wire.ChatRequest{}
//	wire.Decode(root, req)
//	return root.Err() // messages[0].content must be a string or an array of parts.
//
// Answers are written by encoding/json. Where one of several types may stand there
// is a union: [TextOr], or one struct for all types of an object whose member type
// says which, with the types that have a field in its tag of. What is opaque stays
// JSON, and objects whose order is the caller's are [Members].
//
// httpapi/openapi.json is made of these structs and of openapi.base.json, which has the
// routes and what is described by hand; a test fails where it is not current.
//
// Package internal/convert maps these structs to the types of the service, for the
// server and for package client.
package wire
