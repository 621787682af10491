// Package pages reads the workshop's documents, finds the commands and links that
// they show, and serves them as a site. The packages below it make the documents'
// generated parts.
package pages
