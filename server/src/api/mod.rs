//! The four endpoints, one file each; the order of checks stands in one place.
