//! Lists of API keys: those of an account, and those of everybody for administrators.

use icu_normalizer::DecomposingNormalizerBorrowed;
use subcat_engine::{AccountId, ApiKey, ApiKeyState, Timestamp};

use super::chart;
use super::error::PageError;
use super::feed_token::is_feed_key;
use super::language::Lang;
use super::params;
use super::scope_names::scope_names;
use super::spark::{self, SparkSeries};
use super::web_request::WebRequest;
use crate::limits::KEYS_PER_PAGE;
use crate::ops::Operations;
use crate::service::Actor;

/// Time before its expiry from which a key is marked.
const WARNING_SECONDS: i64 = 14 * 86_400;

/// Days of the line of use of a key.
const USE_LINE_DAYS: u32 = 30;

/// A row of a list of API keys.
pub(crate) struct KeyRow {
    pub(crate) number: u64,
    pub(crate) name: String,
    pub(crate) partial: String,
    pub(crate) state: ApiKeyState,
    pub(crate) scopes: String,
    pub(crate) created: String,
    pub(crate) last_used: String,
    pub(crate) expires: String,
    /// True if the key is active and ends soon.
    pub(crate) is_expiring: bool,
    /// Number of the key that took its place when it was rolled.
    pub(crate) replaced_by: Option<u64>,
    /// True if it is revoked, or will be.
    has_end: bool,
    pub(crate) requests: String,
    /// An `svg` element with the requests of the last days, in a list of keys that were used.
    /// Safe to insert unescaped.
    pub(crate) use_line: String,
    pub(crate) downloads: String,
    /// Owner of the key; `None` if it has none, or the list is that of one account.
    pub(crate) owner: Option<KeyOwner>,
}

/// The account that owns a key.
pub(crate) struct KeyOwner {
    pub(crate) number: u64,
    pub(crate) email: String,
}

impl KeyRow {
    /// Reads the totals of the key, as far as they are aggregated. Cost: one look-up in the state
    /// store.
    pub(crate) fn new(request: &WebRequest, key: &ApiKey) -> Result<Self, PageError> {
        let lang = request.lang;
        let (usage, last_used_at) = request.site.service.engine.usage().api_key_totals(key.id)?;
        let never = || lang.t("never", "nunca").to_owned();
        let state = key.state(request.effective_now);
        Ok(Self {
            number: key.id.0,
            name: key.name.clone(),
            partial: key.partial.clone(),
            state,
            scopes: scope_names(key.scopes, lang),
            created: lang.date(key.created_at),
            last_used: last_used_at.map_or_else(never, |time| lang.ago(time, request.now)),
            expires: end_of(key, state).map_or_else(never, |time| lang.date(time)),
            is_expiring: state == ApiKeyState::Active
                && is_expiring(key.ends_at(), request.effective_now),
            replaced_by: key.replaced_by.map(|id| id.0),
            has_end: key.revoked_at.is_some(),
            requests: lang.number(usage.requests),
            use_line: String::new(),
            downloads: lang.number(usage.downloads),
            owner: None,
        })
    }

    /// True for a key that was rolled and still works.
    pub(crate) fn is_rolled(&self) -> bool {
        self.has_end && self.is_revocable()
    }

    /// True if it works, and will until it expires.
    pub(crate) fn can_be_rolled(&self) -> bool {
        self.state == ApiKeyState::Active && !self.has_end
    }

    /// Class of its state in the style sheet.
    pub(crate) fn state_class(&self) -> &'static str {
        self.state.as_str()
    }

    /// Name of its state.
    pub(crate) fn state_name(&self, lang: &Lang) -> &'static str {
        match self.state {
            ApiKeyState::Active => lang.t("active", "activa"),
            ApiKeyState::Expired => lang.t("expired", "caducada"),
            ApiKeyState::Revoked => lang.t("revoked", "revocada"),
        }
    }

    /// True if it can be revoked. An expired key can, too: a clock that is set back would make it
    /// valid again.
    pub(crate) fn is_revocable(&self) -> bool {
        self.state != ApiKeyState::Revoked
    }
}

/// The end of a key as lists show it: of one that is revoked, the expiry that it had.
fn end_of(key: &ApiKey, state: ApiKeyState) -> Option<Timestamp> {
    match state {
        ApiKeyState::Revoked => key.expires_at,
        ApiKeyState::Active | ApiKeyState::Expired => key.ends_at(),
    }
}

/// The compared form of a text: without accents and in lower case.
fn folded(text: &str) -> String {
    let is_mark = |c: &char| ('\u{300}'..='\u{36F}').contains(c);
    let normalizer = DecomposingNormalizerBorrowed::new_nfkd();
    let plain = normalizer.normalize_iter(text.chars());
    plain
        .filter(|c| !is_mark(c))
        .flat_map(char::to_lowercase)
        .collect()
}

/// Requests of a key on each of the last 30 days, drawn small; empty without any. Cost: a scan of
/// these days.
fn use_line(request: &WebRequest, key: &ApiKey) -> Result<String, PageError> {
    let today = request.now.day();
    let first = chart::first_day(today, USE_LINE_DAYS);
    let usage = request.site.service.engine.usage();
    let mut values = vec![Some(0); USE_LINE_DAYS as usize];
    for (day, usage) in usage.api_key_usage(key.id, first, today)? {
        let slot = day.0.checked_sub(first.0).map(|idx| idx as usize);
        if let Some(value) = slot.and_then(|idx| values.get_mut(idx)) {
            *value = Some(usage.requests);
        }
    }
    if values.iter().all(|value| *value == Some(0)) {
        return Ok(String::new());
    }
    let label = request.lang.t(
        "Requests per day, last 30 days",
        "Peticiones por día, últimos 30 días",
    );
    let class = "requests";
    Ok(spark::bars(label, &[SparkSeries { class, values }]))
}

fn is_expiring(expires_at: Option<Timestamp>, now: Timestamp) -> bool {
    expires_at.is_some_and(|time| time < now.plus_seconds(WARNING_SECONDS))
}

/// An option of the filter of states.
pub(crate) struct StateTab {
    pub(crate) value: &'static str,
    pub(crate) label: &'static str,
    pub(crate) count: usize,
    pub(crate) is_chosen: bool,
}

/// An option of the order.
pub(crate) struct SortOption {
    pub(crate) value: &'static str,
    pub(crate) label: &'static str,
    pub(crate) is_chosen: bool,
}

/// One page of a list of keys.
pub(crate) struct KeyList {
    pub(crate) rows: Vec<KeyRow>,
    pub(crate) page_number: usize,
    pub(crate) pages_count: usize,
    /// Number of keys before any filter.
    pub(crate) keys_count: usize,
    /// Number of those that are active.
    pub(crate) active_count: usize,
    /// Number of active keys that the account may have; 0 in the list of everybody.
    pub(crate) active_max: usize,
    /// Typed part of a name.
    pub(crate) find: String,
    pub(crate) tabs: Vec<StateTab>,
    pub(crate) sorts: Vec<SortOption>,
    /// True if rows name the owner.
    pub(crate) has_owners: bool,
    state: String,
    sort: String,
}

impl KeyList {
    /// The keys of an account that the parameters select: `find`, `state`, `sort`, `page`.
    ///
    /// Cost: aggregating the downloads, a pass over the keys of the account, a look-up for each key
    /// shown.
    pub(crate) fn of(request: &WebRequest, account: AccountId) -> Result<Self, PageError> {
        let service = &request.site.service;
        let keys = service.engine.accounts().api_keys_of(account);
        let operations = Operations::of_service(service, Actor::CommandLine);
        let mut list = Self::select(request, keys, false)?;
        list.active_max = operations.active_keys_max(account);
        Ok(list)
    }

    /// The keys of everybody, also those without an owner. Cost: a pass over all keys.
    pub(crate) fn of_all(request: &WebRequest) -> Result<Self, PageError> {
        let keys = request.accounts().api_keys();
        Self::select(request, keys, true)
    }

    fn select(
        request: &WebRequest,
        mut keys: Vec<ApiKey>,
        has_owners: bool,
    ) -> Result<Self, PageError> {
        let (engine, lang) = (&request.site.service.engine, request.lang);
        engine.usage().aggregate_downloads(request.now);
        keys.retain(|key| !is_feed_key(key));
        let keys_count = keys.len();
        let is_active = |key: &&ApiKey| key.state(request.effective_now) == ApiKeyState::Active;
        let active_count = keys.iter().filter(is_active).count();
        let owner_of = |key: &ApiKey| key.account.and_then(|id| engine.accounts().get(id));
        let find = request.query.get("find");
        let wanted = folded(find);
        keys.retain(|key| {
            folded(&key.name).contains(&wanted)
                || key.partial.contains(find)
                || (has_owners
                    && owner_of(key).is_some_and(|it| it.email.as_str().contains(&wanted)))
        });
        let state = request.query.get("state");
        let is_in = |key: &ApiKey, state: &str| match state {
            "" => true,
            "expiring" => {
                key.state(request.effective_now) == ApiKeyState::Active
                    && is_expiring(key.ends_at(), request.effective_now)
            }
            state => key.state(request.effective_now).as_str() == state,
        };
        let tabs = STATES.iter().map(|&(value, en, es)| StateTab {
            value,
            label: lang.t(en, es),
            count: keys.iter().filter(|key| is_in(key, value)).count(),
            is_chosen: state == value,
        });
        let tabs = tabs.collect();
        keys.retain(|key| is_in(key, state));
        let sort = request.query.get("sort");
        sort_keys(&mut keys, sort, request.effective_now);
        let pages_count = keys.len().div_ceil(KEYS_PER_PAGE).max(1);
        let asked = request.query.get("page").parse().unwrap_or(1);
        let page_number = usize::clamp(asked, 1, pages_count);
        let shown = keys.iter().skip((page_number - 1) * KEYS_PER_PAGE);
        let mut rows = Vec::with_capacity(KEYS_PER_PAGE);
        for key in shown.take(KEYS_PER_PAGE) {
            let mut row = KeyRow::new(request, key)?;
            row.use_line = use_line(request, key)?;
            let owner = owner_of(key).filter(|_| has_owners);
            row.owner = owner.map(|account| KeyOwner {
                number: account.id.0,
                email: account.email.as_str().to_owned(),
            });
            rows.push(row);
        }
        Ok(Self {
            rows,
            page_number,
            pages_count,
            keys_count,
            active_count,
            active_max: 0,
            find: find.to_owned(),
            tabs,
            sorts: SORTS
                .iter()
                .map(|&(value, en, es)| SortOption {
                    value,
                    label: lang.t(en, es),
                    is_chosen: sort == value,
                })
                .collect(),
            has_owners,
            state: state.to_owned(),
            sort: sort.to_owned(),
        })
    }

    /// Query string of another state of the list, with the same words and order.
    pub(crate) fn with_state(&self, state: &str) -> String {
        self.address(state, 1)
    }

    /// Query string of another page of the list.
    pub(crate) fn with_page(&self, page_number: usize) -> String {
        self.address(&self.state, page_number)
    }

    fn address(&self, state: &str, page_number: usize) -> String {
        let mut pairs = Vec::new();
        for (name, value) in [
            ("find", self.find.as_str()),
            ("state", state),
            ("sort", &self.sort),
        ] {
            if !value.is_empty() {
                pairs.push(format!("{name}={}", params::encode(value)));
            }
        }
        if 1 < page_number {
            pairs.push(format!("page={page_number}"));
        }
        pairs.join("&")
    }
}

/// States of the filter: value, name in English and Spanish.
const STATES: [(&str, &str, &str); 5] = [
    ("", "All", "Todas"),
    ("active", "Active", "Activas"),
    ("expiring", "Expiring soon", "Caducan pronto"),
    ("expired", "Expired", "Caducadas"),
    ("revoked", "Revoked", "Revocadas"),
];

/// Orders of the list: value, name in English and Spanish.
const SORTS: [(&str, &str, &str); 3] = [
    ("", "Newest first", "Más recientes primero"),
    ("name", "By name", "Por nombre"),
    ("expiry", "Next to expire", "Próximas a caducar"),
];

/// Sorts keys; revoked ones, ever more of them, stand at the end.
fn sort_keys(keys: &mut [ApiKey], sort: &str, now: Timestamp) {
    let is_revoked = |key: &ApiKey| key.state(now) == ApiKeyState::Revoked;
    match sort {
        "name" => keys.sort_by_cached_key(|key| (is_revoked(key), key.name.to_lowercase())),
        "expiry" => keys.sort_by_key(|key| {
            let never = key.ends_at().is_none();
            let at = key.ends_at().map_or(0, Timestamp::seconds);
            (is_revoked(key), never, at)
        }),
        _ => keys.sort_by_key(|key| (is_revoked(key), std::cmp::Reverse(key.id))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_without_their_accents() {
        assert_eq!(folded("Número Ñandú"), "numero nandu");
        assert!(folded("el Número 5").contains(&folded("NUMERO")));
    }
}
