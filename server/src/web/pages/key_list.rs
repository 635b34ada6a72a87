//! The API keys of an account, and an API key as lists show it.

use askama::Template;
use http::StatusCode;
use subcat_engine::{AccountId, ApiKey, ApiKeyState};

use crate::limits::KEYS_PER_PAGE;
use crate::web::answer::{self, PageResult};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::web_request::WebRequest;

/// A row of a list of API keys.
pub(super) struct KeyRow {
    pub(super) number: u64,
    pub(super) name: String,
    pub(super) partial: String,
    pub(super) state: ApiKeyState,
    pub(super) created: String,
    pub(super) last_used: String,
    pub(super) expires: String,
    pub(super) requests: String,
    pub(super) downloads: String,
}

impl KeyRow {
    /// Reads the totals of the key, as far as they are aggregated. Cost: one look-up in the state
    /// store.
    pub(super) fn new(request: &WebRequest, key: &ApiKey) -> Result<Self, PageError> {
        let lang = request.lang;
        let (usage, last_used_at) = request.site.service.engine.usage().api_key_totals(key.id)?;
        let never = lang.t("never", "nunca");
        Ok(Self {
            number: key.id.0,
            name: key.name.clone(),
            partial: key.partial.clone(),
            state: key.state(request.effective_now),
            created: lang.date(key.created_at),
            last_used: last_used_at.map_or(never.to_owned(), |time| lang.date(time)),
            expires: key
                .expires_at
                .map_or(never.to_owned(), |time| lang.date(time)),
            requests: lang.number(usage.requests),
            downloads: lang.number(usage.downloads),
        })
    }

    /// Class of its state in the style sheet.
    pub(super) fn state_class(&self) -> &'static str {
        self.state.as_str()
    }

    /// Name of its state.
    pub(super) fn state_name(&self, lang: &Lang) -> &'static str {
        match self.state {
            ApiKeyState::Active => lang.t("active", "activa"),
            ApiKeyState::Expired => lang.t("expired", "caducada"),
            ApiKeyState::Revoked => lang.t("revoked", "revocada"),
        }
    }

    /// True if it can be revoked. An expired key can, too: a clock that is set back would make it
    /// valid again.
    pub(super) fn is_revocable(&self) -> bool {
        self.state != ApiKeyState::Revoked
    }
}

/// One page of the keys of an account, newest first.
pub(super) struct KeyList {
    pub(super) rows: Vec<KeyRow>,
    pub(super) page_number: usize,
    pub(super) pages_count: usize,
}

impl KeyList {
    /// The page that the parameter `page` selects. Cost: aggregating the downloads, a pass over the
    /// keys of the account, a look-up for each key shown.
    pub(super) fn of(request: &WebRequest, account: AccountId) -> Result<Self, PageError> {
        request
            .site
            .service
            .engine
            .usage()
            .aggregate_downloads(request.now);
        let mut keys = request.site.service.engine.accounts().api_keys_of(account);
        keys.sort_unstable_by_key(|key| std::cmp::Reverse(key.id));
        let pages_count = keys.len().div_ceil(KEYS_PER_PAGE).max(1);
        let asked = request.query.get("page").parse().unwrap_or(1);
        let page_number = usize::clamp(asked, 1, pages_count);
        let shown = keys
            .iter()
            .skip((page_number - 1) * KEYS_PER_PAGE)
            .take(KEYS_PER_PAGE);
        Ok(Self {
            rows: shown
                .map(|key| KeyRow::new(request, key))
                .collect::<Result<_, _>>()?,
            page_number,
            pages_count,
        })
    }
}

#[derive(Template)]
#[template(path = "keys.html")]
struct KeysPage {
    page: Frame,
    notice: String,
    list: KeyList,
}

/// `GET /keys`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let viewer = request.viewer()?;
    let is_revoked = request.query.get("notice") == "revoked";
    let notice = request.lang.t(
        "The key has been revoked and can no longer be used.",
        "La clave se ha revocado y ya no se puede usar.",
    );
    let template = KeysPage {
        page: request.frame("/keys"),
        notice: if is_revoked { notice } else { "" }.to_owned(),
        list: KeyList::of(request, viewer.account.id)?,
    };
    answer::page(StatusCode::OK, &template)
}
