//! Pages of API keys: lists, a new one, one key with its use.

pub(super) mod key;
pub(super) mod key_list;
pub(super) mod key_new;
pub(super) mod key_roll;
pub(super) mod routes;
