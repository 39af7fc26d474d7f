// Package pdftext reads the text of PDF files: the ones that office programs,
// TeX, browsers and scanners write, and the broken ones that people upload all
// the same.
package pdftext
