// Package before has the two locks that people have before they have one in
// Redis: a mutex in each process, and a lock variable that is read, looked at
// and written. Page 00 of the workshop tells of them.
package before
