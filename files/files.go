// Package files reads documents: which types the service takes ([FormatOf]) and
// the text in their bytes ([Text]).
package files
