//! Subtitle files as values: their kind, their name, and the header that carries the name.
//!
//! Pure: no file is opened here.

mod completeness;
mod archive;
mod characters;
mod conversion;
mod disposition;
mod foreign;
mod kind;
mod little_endian;
mod look;
mod names;

pub use archive::{
    Archive, ArchiveEntry, ArchiveError, ArchiveText, EntryKind, archive_texts, unpack_text,
};
pub use characters::decode_text;
pub use completeness::{Completeness, completeness};
pub use conversion::{ConversionError, convert};
pub use disposition::content_disposition;
pub use kind::{RecognisedFile, foreign_name, kind_of, recognise};
pub use look::{CueLook, NamedSize, NamesLook, archive_cues, archive_names, first_cues};
pub use names::{clean_name, converted_name, named_kind, served_name, upstream_name};
