//! Bytes ↔ values, versioned: stored values, and the fragments of answers.
//!
//! Every stored value begins with a version byte, and a decoder refuses any other version: an older
//! program that reads newer data fails instead of misreading it. A change of a format raises its
//! version.
//!
//! The checksum of a stored value belongs to the store: it covers the row's key and the value's
//! bytes, and is checked before they reach this module.

mod wire;
mod value;
mod answer;
mod answer_fields;
mod record;
mod state;

pub(crate) use answer::FRAGMENT_VERSION;
pub use answer::{fragment_id, fragment_time, write_fragment};
pub use answer_fields::{AnswerFields, fragment_fields};
pub(crate) use record::is_active;
pub use record::{decode_record, encode_record};
pub(crate) use state::{
    ApiKeyTotals, decode_figures, decode_number, encode_figures, encode_number,
};
pub(crate) use value::{Codec, StoredValue, codec};
pub(crate) use wire::{Decoder, Encoder};
