//! Authentication: the text of API keys, the table of all keys, and the key that seals secrets.

mod key_text;
mod sealing_key;
mod table;

pub(crate) use key_text::API_KEY_PREFIX;
pub use key_text::{
    api_key_digest, api_key_partial, api_key_text, is_api_key_text, new_api_key_text, without_keys,
};
pub use sealing_key::SealingKey;
pub use table::{DefaultLimits, KeyTable, KnownKey, WindowOwner};
