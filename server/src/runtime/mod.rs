//! Laid out, not yet furnished.
