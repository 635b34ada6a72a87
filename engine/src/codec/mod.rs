//! Bytes ↔ values, versioned: stored values, and the fragments of answers.
//!
//! Every stored value begins with a version byte, and a decoder refuses any other version: an older
//! program that reads newer data fails instead of misreading it. A change of a format raises its
//! version.
//!
//! The checksum of a stored value is the store's: it covers the row's key and the value's bytes
//! and is checked before anything here sees them.

mod answer;
mod record;
mod state;
mod wire;

pub(crate) use answer::{FRAGMENT_VERSION, UploaderEnding, fragment_texts};
pub use answer::{fragment_id, fragment_time, write_fragment};
pub(crate) use record::is_active;
pub use record::{decode_record, encode_record};
pub(crate) use state::{
    ApiKeyTotals, decode_account, decode_api_key, decode_audit_entry, decode_cached_file,
    decode_figures, decode_link, decode_number, decode_second_step, decode_session, decode_totals,
    decode_usage, encode_account, encode_api_key, encode_audit_entry, encode_cached_file,
    encode_figures, encode_link, encode_number, encode_second_step, encode_session, encode_totals,
    encode_usage, put_limit, put_time, take_limit, take_time,
};
pub(crate) use wire::{Decoder, Encoder};
