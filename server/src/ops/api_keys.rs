//! Operations on API keys: create, list, show, revoke.

use serde::{Deserialize, Serialize};
use subcat_engine::{
    Account, AccountId, ApiKey, ApiKeyId, ApiKeyState, Change, Day, Email, Expiry, KeyBound,
    KeyName, KeyRenewal, KeyRoll, NewApiKey, Outcome, ROLL_DAYS_MAX, RateLimit, Role, Scopes,
    Timestamp, Usage,
};

use super::error::{OperationError, OperationRejection};
use super::operation::{Operation, OperationEntry, Operations};
use crate::auth::{DefaultLimits, api_key_digest, api_key_partial, new_api_key_text};
use crate::limits::{ACTIVE_KEYS_MAX, ADMIN_KEYS_FACTOR, KEYS_MAX, USAGE_DAYS};
use crate::service::Actor;

pub(super) const OPERATIONS: &[OperationEntry] = &[
    OperationEntry::of::<CreateKey>(),
    OperationEntry::of::<ListKeys>(),
    OperationEntry::of::<ShowKey>(),
    OperationEntry::of::<RevokeKey>(),
    OperationEntry::of::<RollKey>(),
    OperationEntry::of::<SetKeyLimit>(),
];

const SECONDS_PER_DAY: i64 = 86_400;
/// Name of the key of a feed.
const FEED_KEY_NAME: &str = "feed";

/// An API key to create, as a page or a subcommand describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyDraft {
    /// Descriptive name.
    pub name: KeyName,
    /// The account that owns it.
    pub account: Option<AccountId>,
    /// Permissions.
    pub scopes: Scopes,
    /// Rate limit of the key; none means the server's default.
    pub limit: Option<RateLimit>,
    /// Expiry of the key.
    pub expiry: Expiry,
}

impl Operations<'_> {
    /// Creates an API key with a new random text, which is returned beside it and not stored. The
    /// key is valid when this returns.
    ///
    /// Errors: it has no scopes, its expiry has passed, its owner has too many keys or no longer
    /// exists.
    pub async fn create_api_key(
        &self,
        draft: &KeyDraft,
    ) -> Result<(ApiKey, String), OperationError> {
        if draft.scopes == Scopes::NONE {
            return Err(OperationRejection::NoScopes.into());
        }
        let expires_at = draft.expiry.resolve(self.effective_now);
        let expires_at = expires_at.map_err(OperationRejection::from)?;
        let text = new_api_key_text();
        let new = NewApiKey {
            account: draft.account,
            name: draft.name.as_str().to_owned(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes: draft.scopes,
            limit: draft.limit,
            expires_at,
        };
        let bound = draft.account.and_then(|owner| self.bound_of(owner));
        let change = match bound {
            Some(bound) => Change::CreateApiKeyWithin(new, bound),
            None => Change::CreateApiKey(new),
        };
        let outcome = self.change(change).await?;
        match outcome {
            Outcome::ApiKey(api_key) => Ok((api_key, text)),
            refused => Err(room_rejection(&refused, bound)
                .unwrap_or(OperationRejection::OwnerLost)
                .into()),
        }
    }

    /// Changes the name of an API key. The key stays valid throughout.
    pub async fn rename_api_key(&self, id: ApiKeyId, name: &KeyName) -> Result<(), OperationError> {
        self.known_key(id)?;
        self.change(Change::RenameApiKey(id, name.as_str().to_owned()))
            .await?;
        Ok(())
    }

    /// Gives an API key a rate limit of its own, or with `None` the server's again. It holds from
    /// the next request on.
    pub async fn set_api_key_limit(
        &self,
        id: ApiKeyId,
        limit: Option<RateLimit>,
    ) -> Result<(), OperationError> {
        self.known_key(id)?;
        self.change(Change::SetApiKeyLimit(id, limit)).await?;
        Ok(())
    }

    /// Revokes an API key for good: no request that starts after this returns is served with it.
    pub async fn revoke_api_key(&self, id: ApiKeyId) -> Result<ApiKey, OperationError> {
        let api_key = self.known_key(id)?;
        self.change(Change::RevokeApiKey(id)).await?;
        Ok(api_key)
    }

    /// Makes the one key of the feeds of an account. Returns the key and its text, which is not
    /// stored. The previous feed key ends.
    ///
    /// Errors: the account no longer exists.
    pub async fn replace_feed_key(
        &self,
        owner: AccountId,
    ) -> Result<(ApiKey, String), OperationError> {
        let text = new_api_key_text();
        let replaced = Change::ReplaceFeedKey(NewApiKey {
            account: Some(owner),
            name: FEED_KEY_NAME.to_owned(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes: Scopes::NONE,
            limit: None,
            expires_at: None,
        });
        match self.change(replaced).await? {
            Outcome::ApiKey(api_key) => Ok((api_key, text)),
            _ => Err(OperationRejection::OwnerLost.into()),
        }
    }

    /// Gives an API key a new random text under a new number, with its name, scopes, limit and
    /// usage history, and a new expiry. The old key is revoked after `grace_days`.
    ///
    /// Errors: the key is revoked, or was rolled before; it has expired; the new expiry has passed;
    /// its owner has too many keys.
    pub async fn roll_api_key(
        &self,
        id: ApiKeyId,
        grace_days: u32,
        expiry: Expiry,
    ) -> Result<(ApiKey, String), OperationError> {
        let expires_at = expiry.resolve(self.effective_now);
        let expires_at = expires_at.map_err(OperationRejection::from)?;
        if ROLL_DAYS_MAX < grace_days {
            return Err(OperationRejection::GraceTooLong.into());
        }
        let old = self.known_key(id)?;
        if old.revoked_at.is_some() {
            return Err(OperationRejection::KeyRevoked(id).into());
        }
        if let Some(at) = old.expires_at.filter(|at| *at <= self.effective_now) {
            return Err(OperationRejection::ExpiryPassed(at).into());
        }
        let text = new_api_key_text();
        let grace_seconds = i64::from(grace_days) * SECONDS_PER_DAY;
        let bound = old.account.and_then(|owner| self.bound_of(owner));
        let renewed = Change::RenewApiKey(KeyRenewal {
            roll: KeyRoll {
                old: id,
                digest: api_key_digest(&text),
                partial: api_key_partial(&text),
                old_ends_at: self.effective_now.plus_seconds(grace_seconds),
            },
            expires_at,
            bound,
        });
        match self.change(renewed).await? {
            Outcome::ApiKey(api_key) => Ok((api_key, text)),
            refused => Err(room_rejection(&refused, bound)
                .unwrap_or(OperationRejection::KeyRevoked(id))
                .into()),
        }
    }

    /// The bounds of an account. They apply to users; the operator controls the machine and may
    /// exceed them.
    fn bound_of(&self, owner: AccountId) -> Option<KeyBound> {
        if self.actor == Actor::CommandLine {
            return None;
        }
        Some(KeyBound {
            keys_max: KEYS_MAX as u64,
            active_max: self.active_keys_max(owner) as u64,
        })
    }

    /// Active keys that an account may have.
    pub fn active_keys_max(&self, owner: AccountId) -> usize {
        let keys_max = self.config.accounts.keys_max;
        let account = self.engine.accounts().get(owner);
        match account.map(|account| account.role) {
            Some(Role::Admin) => (keys_max * ADMIN_KEYS_FACTOR).min(ACTIVE_KEYS_MAX),
            Some(Role::User) | None => keys_max,
        }
    }

    fn known_key(&self, id: ApiKeyId) -> Result<ApiKey, OperationRejection> {
        let found = self.engine.accounts().api_key(id);
        found.ok_or(OperationRejection::UnknownKey(id))
    }

    fn usable_account(&self, email: &str) -> Result<Account, OperationRejection> {
        let parsed = Email::parse(email);
        let account = parsed.and_then(|email| self.engine.accounts().by_email(&email));
        match account {
            None => Err(OperationRejection::UnknownOwner(email.to_owned())),
            Some(account) if account.disabled_at.is_some() => {
                Err(OperationRejection::OwnerDisabled(email.to_owned()))
            }
            Some(account) => Ok(account),
        }
    }

    fn limit_of(&self, api_key: &ApiKey) -> String {
        let limits = self.config.rate_limit;
        let defaults = DefaultLimits {
            api_key: limits.api_key,
            address_key: limits.address_key(),
        };
        let limit = api_key.limit.unwrap_or(defaults.of_scopes(api_key.scopes));
        limit.to_string()
    }

    fn created(&self, api_key: ApiKey, text: String) -> KeyCreated {
        KeyCreated {
            limit: self.limit_of(&api_key),
            address: api_key
                .scopes
                .is_address()
                .then(|| format!("{}/a/{text}", self.config.reached_at())),
            id: api_key.id.0,
            name: api_key.name,
            key: text,
            scopes: names_of(api_key.scopes),
            expires_at: api_key.expires_at.map(|at| at.to_string()),
        }
    }

    fn listed(&self, api_key: &ApiKey) -> Result<KeyListed, OperationError> {
        let (usage, last_used_at) = self.engine.usage().api_key_totals(api_key.id)?;
        let early_end = api_key
            .ends_at()
            .filter(|at| Some(*at) != api_key.expires_at);
        Ok(KeyListed {
            id: api_key.id.0,
            name: api_key.name.clone(),
            partial: api_key.partial.clone(),
            scopes: names_of(api_key.scopes),
            created_at: api_key.created_at.to_string(),
            last_used_at: last_used_at.map(|at| at.to_string()),
            expires_at: api_key.expires_at.map(|at| at.to_string()),
            ends_at: early_end.map(|at| at.to_string()),
            replaced_by: api_key.replaced_by.map(|id| id.0),
            state: self.state_of(api_key).to_owned(),
            requests: usage.requests,
            downloads: usage.downloads,
        })
    }

    /// State of a key; `account disabled` for an active key of a disabled account.
    fn state_of(&self, api_key: &ApiKey) -> &'static str {
        let state = api_key.state(self.effective_now);
        let owner = api_key
            .account
            .and_then(|id| self.engine.accounts().get(id));
        let is_disabled = owner.is_some_and(|account| account.disabled_at.is_some());
        if state == ApiKeyState::Active && is_disabled {
            "account disabled"
        } else {
            state.as_str()
        }
    }

    /// First and last day of the usage that `key show` and `stats` report.
    pub(super) fn usage_days(&self) -> (Day, Day) {
        let today = self.now.day();
        (Day(today.0.saturating_sub(USAGE_DAYS - 1)), today)
    }
}

/// `key create`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateKey {
    /// Descriptive name.
    pub name: String,
    /// Address of the account that owns it.
    pub account: Option<String>,
    /// First second at which it is expired.
    pub expires_at: Option<String>,
    /// Names of scopes, separated by commas; none means all.
    pub scopes: Option<String>,
    /// `REQUESTS/SECONDS`; none means the server's default.
    pub limit: Option<String>,
}

impl Operation for CreateKey {
    const NAME: &'static str = "key/create";
    type Answer = KeyCreated;

    async fn execute(self, operations: &Operations<'_>) -> Result<KeyCreated, OperationError> {
        let name = KeyName::parse(&self.name).ok_or(OperationRejection::InvalidKeyName)?;
        let account = match &self.account {
            Some(email) => Some(operations.usable_account(email)?),
            None => None,
        };
        let scopes = match self.scopes {
            Some(text) => Scopes::parse(&text).ok_or(OperationRejection::InvalidScopes(text))?,
            None => Scopes::ALL,
        };
        let limit = match self.limit {
            Some(text) => {
                Some(RateLimit::parse(&text).ok_or(OperationRejection::InvalidLimit(text))?)
            }
            None => None,
        };
        let expiry = expiry_at(self.expires_at)?;
        let draft = KeyDraft {
            name,
            account: account.map(|account| account.id),
            scopes,
            limit,
            expiry,
        };
        let (api_key, text) = operations.create_api_key(&draft).await?;
        Ok(operations.created(api_key, text))
    }
}

/// `key list`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ListKeys {}

impl Operation for ListKeys {
    const NAME: &'static str = "key/list";
    type Answer = Vec<KeyListed>;

    async fn execute(self, operations: &Operations<'_>) -> Result<Self::Answer, OperationError> {
        operations
            .engine
            .usage()
            .aggregate_downloads(operations.now);
        let api_keys = operations.engine.accounts().api_keys();
        api_keys.iter().map(|key| operations.listed(key)).collect()
    }
}

/// `key show ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowKey {
    /// The key's number.
    pub id: u64,
}

impl Operation for ShowKey {
    const NAME: &'static str = "key/show";
    type Answer = KeyShown;

    async fn execute(self, operations: &Operations<'_>) -> Result<KeyShown, OperationError> {
        let api_key = operations.known_key(ApiKeyId(self.id))?;
        let engine = operations.engine;
        let (from, today) = operations.usage_days();
        engine.usage().aggregate_downloads(operations.now);
        let days = engine.usage().api_key_usage(api_key.id, from, today)?;
        let account = api_key.account.and_then(|id| engine.accounts().get(id));
        Ok(KeyShown {
            listed: operations.listed(&api_key)?,
            account: account.map(|account| account.email.as_str().to_owned()),
            limit: operations.limit_of(&api_key),
            revoked_at: api_key.revoked_at.map(|at| at.to_string()),
            days: DayShown::list(&days),
        })
    }
}

/// `key revoke ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RevokeKey {
    /// The key's number.
    pub id: u64,
}

/// Answer of [`RevokeKey`].
#[derive(Debug, Serialize, Deserialize)]
pub struct KeyRevoked {
    /// The key's number.
    pub id: u64,
    /// Descriptive name.
    pub name: String,
    /// `revoked`.
    pub state: String,
    /// Nodes of the cluster that have not confirmed it, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unconfirmed: Vec<String>,
}

impl Operation for RevokeKey {
    const NAME: &'static str = "key/revoke";
    type Answer = KeyRevoked;

    async fn execute(self, operations: &Operations<'_>) -> Result<KeyRevoked, OperationError> {
        let api_key = operations.revoke_api_key(ApiKeyId(self.id)).await?;
        Ok(KeyRevoked {
            id: self.id,
            name: api_key.name,
            state: ApiKeyState::Revoked.as_str().to_owned(),
            unconfirmed: operations.unconfirmed(),
        })
    }
}

/// `key limit ID LIMIT`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SetKeyLimit {
    /// The key's number.
    pub id: u64,
    /// `REQUESTS/SECONDS`; none means the server's default.
    pub limit: Option<String>,
}

/// Answer of [`SetKeyLimit`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyLimitSet {
    /// The key's number.
    pub id: u64,
    /// The limit in effect: `REQUESTS/SECONDS`.
    pub limit: String,
}

impl Operation for SetKeyLimit {
    const NAME: &'static str = "key/limit";
    type Answer = KeyLimitSet;

    async fn execute(self, operations: &Operations<'_>) -> Result<KeyLimitSet, OperationError> {
        let limit = match self.limit {
            Some(text) => {
                Some(RateLimit::parse(&text).ok_or(OperationRejection::InvalidLimit(text))?)
            }
            None => None,
        };
        let id = ApiKeyId(self.id);
        operations.set_api_key_limit(id, limit).await?;
        let api_key = operations.known_key(id)?;
        Ok(KeyLimitSet {
            id: self.id,
            limit: operations.limit_of(&api_key),
        })
    }
}

/// `key roll ID`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RollKey {
    /// The key's number.
    pub id: u64,
    /// Days for which the old key remains valid.
    pub grace_days: u32,
    /// Expiry of the new key; none means never.
    pub expires_at: Option<String>,
}

/// Answer of [`RollKey`]: the only time that the new key is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRolled {
    /// The new key.
    #[serde(flatten)]
    pub created: KeyCreated,
    /// Id of the old key.
    pub replaces: u64,
    /// End of the old key: the first second at which it is revoked.
    pub old_ends_at: String,
}

impl Operation for RollKey {
    const NAME: &'static str = "key/roll";
    type Answer = KeyRolled;

    async fn execute(self, operations: &Operations<'_>) -> Result<KeyRolled, OperationError> {
        let id = ApiKeyId(self.id);
        let expiry = expiry_at(self.expires_at)?;
        let (api_key, text) = operations.roll_api_key(id, self.grace_days, expiry).await?;
        let old_ends_at = operations.known_key(id)?.revoked_at;
        Ok(KeyRolled {
            created: operations.created(api_key, text),
            replaces: self.id,
            old_ends_at: old_ends_at.map(|at| at.to_string()).unwrap_or_default(),
        })
    }
}

/// Answer of [`CreateKey`]: the only time that the key is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCreated {
    /// Id of the key.
    pub id: u64,
    /// Descriptive name.
    pub name: String,
    /// The key itself.
    pub key: String,
    /// Names of its scopes.
    pub scopes: Vec<String>,
    /// First second at which it is expired, or null.
    pub expires_at: Option<String>,
    /// `REQUESTS/SECONDS`.
    pub limit: String,
    /// The address with the key, if its scope is `address`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// One key as `key list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyListed {
    /// Id of the key.
    pub id: u64,
    /// Descriptive name.
    pub name: String,
    /// `sct_AbCd…wXyZ`.
    pub partial: String,
    /// Names of its scopes.
    pub scopes: Vec<String>,
    /// Time of its creation.
    pub created_at: String,
    /// Time of the last request with it that was answered, or null.
    pub last_used_at: Option<String>,
    /// First second at which it is expired, or null.
    pub expires_at: Option<String>,
    /// First second at which it is no longer valid, if a roll has set an end before its expiry;
    /// left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ends_at: Option<String>,
    /// Id of the key that took its place when it was rolled; left out otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaced_by: Option<u64>,
    /// `active`, `expired` or `revoked`.
    pub state: String,
    /// Requests that consumed its window.
    pub requests: u64,
    /// Downloads that count.
    pub downloads: u64,
}

/// Answer of [`ShowKey`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyShown {
    /// The key in the form of the list.
    #[serde(flatten)]
    pub listed: KeyListed,
    /// The address of the account that it belongs to, or null.
    pub account: Option<String>,
    /// `REQUESTS/SECONDS`.
    pub limit: String,
    /// Time of its revocation, or null.
    pub revoked_at: Option<String>,
    /// The last days of its use.
    pub days: Vec<DayShown>,
}

/// Usage on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DayShown {
    /// `YYYY-MM-DD`, in UTC.
    pub day: String,
    /// Requests that consumed a key's window.
    pub requests: u64,
    /// Downloads that count.
    pub downloads: u64,
    /// Answers 400 to 499 without 429.
    pub client_errors: u64,
    /// Answers 429.
    pub limited: u64,
}

impl DayShown {
    /// The usage of each of these days.
    pub(super) fn list(days: &[(Day, Usage)]) -> Vec<Self> {
        let shown = days.iter().map(|(day, usage)| Self::new(*day, usage));
        shown.collect()
    }

    fn new(day: Day, usage: &Usage) -> Self {
        Self {
            day: day.to_string(),
            requests: usage.requests,
            downloads: usage.downloads,
            client_errors: usage.client_errors,
            limited: usage.limited,
        }
    }
}

/// The expiry of an operation: a moment, or never.
fn expiry_at(text: Option<String>) -> Result<Expiry, OperationRejection> {
    match text {
        Some(text) => {
            let at = Timestamp::parse(&text).ok_or(OperationRejection::InvalidTime(text))?;
            Ok(Expiry::At(at))
        }
        None => Ok(Expiry::Never),
    }
}

/// The rejection of a key that found no room.
fn room_rejection(outcome: &Outcome, bound: Option<KeyBound>) -> Option<OperationRejection> {
    match (outcome, bound) {
        (Outcome::TooManyKeys, _) => Some(OperationRejection::TooManyKeys),
        (Outcome::TooManyActiveKeys, Some(bound)) => Some(OperationRejection::TooManyActiveKeys(
            bound.active_max as usize,
        )),
        _ => None,
    }
}

fn names_of(scopes: Scopes) -> Vec<String> {
    scopes.names().map(str::to_owned).collect()
}
