//! Ids of accounts and API keys, which refer to each other: with the ids here, neither file imports
//! the other.

/// Id of an account; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccountId(pub u64);

/// Id of an API key; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ApiKeyId(pub u64);
