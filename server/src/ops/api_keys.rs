//! API keys: create, list, show, revoke.

use serde::{Deserialize, Serialize};
use serde_json::json;
use subcat_engine::model::{
    Account, ApiKey, ApiKeyId, Day, Email, RateLimit, Scopes, Timestamp, Usage,
};
use subcat_engine::{Change, NewApiKey, Outcome};

use super::error::Failure;
use super::execute::{Operations, answer};
use super::operation::NewKeyOrder;
use crate::auth::{api_key_digest, api_key_partial, new_api_key_text};

/// Characters of a key's name, at most.
const NAME_CHARS_MAX: usize = 100;
/// Days of usage that `key show` and `stats` go back.
pub(super) const USAGE_DAYS: u32 = 30;

/// What `key create` answers: the only time that the key is seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyCreated {
    /// Its number.
    pub id: u64,
    /// Its descriptive name.
    pub name: String,
    /// The key itself.
    pub key: String,
    /// Names of its scopes.
    pub scopes: Vec<String>,
    /// When it expires, or null.
    pub expires_at: Option<String>,
    /// `REQUESTS/SECONDS`.
    pub limit: String,
}

/// One key as `key list` shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyListed {
    /// Its number.
    pub id: u64,
    /// Its descriptive name.
    pub name: String,
    /// `sct_AbCd…wXyZ`.
    pub partial: String,
    /// Names of its scopes.
    pub scopes: Vec<String>,
    /// When it was made.
    pub created_at: String,
    /// When a request with it was last answered, or null.
    pub last_used_at: Option<String>,
    /// When it expires, or null.
    pub expires_at: Option<String>,
    /// `active`, `expired` or `revoked`.
    pub state: String,
    /// Requests that consumed its window.
    pub requests: u64,
    /// Downloads that count.
    pub downloads: u64,
}

/// What `key show` answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyShown {
    /// The key as it is listed.
    #[serde(flatten)]
    pub listed: KeyListed,
    /// The address of the account that it belongs to, or null.
    pub account: Option<String>,
    /// `REQUESTS/SECONDS`.
    pub limit: String,
    /// When it was revoked, or null.
    pub revoked_at: Option<String>,
    /// The last days on which it was used.
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
    pub(super) fn new((day, usage): (Day, Usage)) -> Self {
        Self {
            day: day.to_string(),
            requests: usage.requests,
            downloads: usage.downloads,
            client_errors: usage.client_errors,
            limited: usage.limited,
        }
    }
}

impl Operations<'_> {
    pub(super) fn create_key(&self, order: &NewKeyOrder) -> Result<String, Failure> {
        let name = valid_name(&order.name)?;
        let account = match &order.account {
            Some(email) => Some(self.usable_account(email)?),
            None => None,
        };
        let scopes = order
            .scopes
            .as_deref()
            .map_or(Ok(Scopes::ALL), valid_scopes)?;
        let limit = order.limit.as_deref().map(valid_limit).transpose()?;
        let expires_at = match order.expires_at.as_deref() {
            Some(text) => Some(self.valid_expiry(text)?),
            None => None,
        };
        let text = new_api_key_text();
        let outcome = self.change(Change::CreateApiKey(NewApiKey {
            account: account.map(|account| account.id),
            name: name.to_owned(),
            digest: api_key_digest(&text),
            partial: api_key_partial(&text),
            scopes,
            limit,
            expires_at,
        }))?;
        let Outcome::ApiKey(api_key) = outcome else {
            return Err(Failure::new("the account is gone: no key was made"));
        };
        answer(&KeyCreated {
            id: api_key.id.0,
            name: api_key.name,
            key: text,
            scopes: names_of(api_key.scopes),
            expires_at: api_key.expires_at.map(|at| at.to_string()),
            limit: self.limit_of(api_key.limit),
        })
    }

    pub(super) fn list_keys(&self) -> Result<String, Failure> {
        self.engine.usage().aggregate_downloads(self.now);
        let api_keys = self.engine.accounts().api_keys();
        let listed: Result<Vec<_>, _> = api_keys.iter().map(|key| self.listed(key)).collect();
        answer(&listed?)
    }

    pub(super) fn show_key(&self, id: ApiKeyId) -> Result<String, Failure> {
        let api_key = self.known_key(id)?;
        let today = self.now.day();
        let from = Day(today.0.saturating_sub(USAGE_DAYS - 1));
        self.engine.usage().aggregate_downloads(self.now);
        let days = self.engine.usage().api_key_usage(id, from, today)?;
        let account = api_key
            .account
            .and_then(|id| self.engine.accounts().get(id));
        answer(&KeyShown {
            listed: self.listed(&api_key)?,
            account: account.map(|account| account.email.as_str().to_owned()),
            limit: self.limit_of(api_key.limit),
            revoked_at: api_key.revoked_at.map(|at| at.to_string()),
            days: days.into_iter().map(DayShown::new).collect(),
        })
    }

    pub(super) fn revoke_key(&self, id: ApiKeyId) -> Result<String, Failure> {
        let api_key = self.known_key(id)?;
        self.change(Change::RevokeApiKey(id))?;
        Ok(json!({ "id": id.0, "name": api_key.name, "state": "revoked" }).to_string())
    }

    fn known_key(&self, id: ApiKeyId) -> Result<ApiKey, Failure> {
        let found = self.engine.accounts().api_key(id);
        let sentence = || format!("no key {} (subcat key list shows all)", id.0);
        found.ok_or_else(|| Failure::new(sentence()))
    }

    fn usable_account(&self, email: &str) -> Result<Account, Failure> {
        let parsed = Email::parse(email);
        let account = parsed.and_then(|email| self.engine.accounts().by_email(&email));
        let Some(account) = account else {
            let advice = "make it with subcat account create";
            return Err(Failure::new(format!("no account {email}: {advice}")));
        };
        if account.disabled_at.is_some() {
            return Err(Failure::new(format!(
                "the account {email} is disabled: no key was made"
            )));
        }
        Ok(account)
    }

    fn valid_expiry(&self, text: &str) -> Result<Timestamp, Failure> {
        let at = Timestamp::parse(text)
            .ok_or_else(|| Failure::new(format!("{text} is no point in time")))?;
        if at <= self.judged_at {
            return Err(Failure::new(format!(
                "{at} is in the past: no key was made"
            )));
        }
        Ok(at)
    }

    fn limit_of(&self, own: Option<RateLimit>) -> String {
        own.unwrap_or(self.config.rate_limit.api_key).to_string()
    }

    fn listed(&self, api_key: &ApiKey) -> Result<KeyListed, Failure> {
        let (usage, last_used_at) = self.engine.usage().api_key_totals(api_key.id)?;
        Ok(KeyListed {
            id: api_key.id.0,
            name: api_key.name.clone(),
            partial: api_key.partial.clone(),
            scopes: names_of(api_key.scopes),
            created_at: api_key.created_at.to_string(),
            last_used_at: last_used_at.map(|at| at.to_string()),
            expires_at: api_key.expires_at.map(|at| at.to_string()),
            state: api_key.state(self.judged_at).as_str().to_owned(),
            requests: usage.requests,
            downloads: usage.downloads,
        })
    }
}

fn names_of(scopes: Scopes) -> Vec<String> {
    scopes.names().map(str::to_owned).collect()
}

fn valid_name(name: &str) -> Result<&str, Failure> {
    let name = name.trim();
    let chars_count = name.chars().count();
    let is_valid = (1..=NAME_CHARS_MAX).contains(&chars_count) && !name.contains(char::is_control);
    let sentence = "a key's name has 1 to 100 characters and no control characters";
    is_valid
        .then_some(name)
        .ok_or_else(|| Failure::new(sentence))
}

fn valid_scopes(text: &str) -> Result<Scopes, Failure> {
    let sentence = || format!("{text:?} names no scopes: they are search, read, download");
    Scopes::parse(text).ok_or_else(|| Failure::new(sentence()))
}

fn valid_limit(text: &str) -> Result<RateLimit, Failure> {
    let sentence = || format!("{text:?} is no limit: write REQUESTS/SECONDS, such as 60/60");
    RateLimit::parse(text).ok_or_else(|| Failure::new(sentence()))
}
