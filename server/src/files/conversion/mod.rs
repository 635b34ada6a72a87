//! Subtitles of four formats, written anew as `SubRip` or WebVTT.
//!
//! Pure: text in, text out. A reader turns a file into a list of cues; a writer writes the list
//! after the rules for all formats.
//!
//! Source: API.md 17.10 to 17.17.

mod convert;
mod cue;
mod microdvd;
mod ssa;
mod subrip;
mod time;
mod vtt_text;
mod webvtt;

pub use convert::{ConversionError, convert};
