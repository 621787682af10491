// Package exercises has the locks that come up before the right one: a mutex in each
// process and a lock variable (page 0 of the workshop), and two that people
// propose when they see silver (page 2), with SETNX and PEXPIRE in a transaction
// or in a pipeline. The exercises are in the directories below.
package exercises
