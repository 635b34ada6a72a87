//! Authentication: the text of API keys, and the table of all keys.

mod key_text;
mod table;

pub(crate) use key_text::API_KEY_PREFIX;
pub use key_text::{
    api_key_digest, api_key_partial, api_key_text, is_api_key_text, new_api_key_text, without_keys,
};
pub use table::{DefaultLimits, KeyTable, KnownKey, WindowOwner};
