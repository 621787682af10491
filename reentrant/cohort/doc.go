// Package cohort is a lock
package cohort
