// Package libraries makes the locks of popular Go libraries look like a rung of
// the ladder, so that they run through the same scenarios and the same
// benchmark. The libraries are used as their documentation says and are not
// changed; an adapter only translates calls and errors.
//
// docs/libraries.md has what they hold and what they break.
package libraries
