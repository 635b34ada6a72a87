//! The page of an API key: its facts, its usage, its revocation.

use askama::Template;
use http::StatusCode;
use subcat_engine::{ApiKey, ApiKeyId, ApiKeyState, Scopes};

use super::key_list::KeyRow;
use crate::ops::Operations;
use crate::service::Actor;
use crate::web::answer::{self, PageResult};
use crate::web::chart::{self, UsageView};
use crate::web::error::PageError;
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::notice::Notice;
use crate::web::web_request::WebRequest;

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    page: Frame,
    key: KeyRow,
    scopes: String,
    limit: String,
    revoked: String,
    /// Email address of the owner, if an administrator looks at the key of another account; empty
    /// otherwise.
    owner: String,
    /// Number of that account; 0 if `owner` is empty.
    owner_number: u64,
    /// True if no account owns the key.
    is_unowned: bool,
    usage: UsageView,
}

#[derive(Template)]
#[template(path = "key_revoke.html")]
struct RevokePage {
    page: Frame,
    number: u64,
    name: String,
    partial: String,
}

/// The scopes in the words of the form, separated by commas.
pub(super) fn scope_names(scopes: Scopes, lang: Lang) -> String {
    let names = [
        (Scopes::SEARCH, lang.t("search", "buscar")),
        (Scopes::READ, lang.t("read", "leer")),
        (Scopes::DOWNLOAD, lang.t("download", "descargar")),
    ];
    let held = names.iter().filter(|(scope, _)| scopes.contains(*scope));
    let held: Vec<&str> = held.map(|(_, name)| *name).collect();
    held.join(", ")
}

/// The key with this number, if it belongs to the viewer or the viewer is an administrator.
/// Others get the answer of a key that does not exist.
fn find(request: &WebRequest, number: &str) -> Result<ApiKey, PageError> {
    let viewer = request.viewer()?;
    let id = ApiKeyId(number.parse().map_err(|_| PageError::NotFound)?);
    let key = request.site.service.engine.accounts().api_key(id);
    key.filter(|key| viewer.is_admin() || key.account == Some(viewer.account.id))
        .ok_or(PageError::NotFound)
}

/// `GET /keys/{number}`.
pub(crate) fn show(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    let viewer = request.viewer()?;
    let engine = &request.site.service.engine;
    let days_count = chart::period(request.query.get("days"));
    let today = request.now.day();
    let first = chart::first_day(today, days_count);
    engine.usage().aggregate_downloads(request.now);
    let usage = engine.usage().api_key_usage(key.id, first, today)?;
    let other_owner = key.account.filter(|owner| *owner != viewer.account.id);
    let owner = other_owner.and_then(|owner| engine.accounts().get(owner));
    let limit = key
        .limit
        .unwrap_or(request.site.service.config.rate_limit.api_key);
    let unit = request.lang.t("requests in", "peticiones en");
    let template = KeyPage {
        page: request.frame("/keys"),
        scopes: scope_names(key.scopes, request.lang),
        limit: format!("{} {unit} {} s", limit.requests, limit.window_seconds),
        revoked: key
            .revoked_at
            .filter(|at| *at <= request.effective_now)
            .map_or(String::new(), |time| request.lang.moment(time)),
        owner_number: owner.as_ref().map_or(0, |owner| owner.id.0),
        owner: owner.map_or(String::new(), |owner| owner.email.as_str().to_owned()),
        is_unowned: key.account.is_none(),
        usage: UsageView::new(request.lang, &usage, today, days_count),
        key: KeyRow::new(request, &key)?,
    };
    answer::page(StatusCode::OK, &template)
}

/// `GET /keys/{number}/revoke`: asks for confirmation.
pub(crate) fn show_revoke(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    // An old confirmation page must not offer to revoke twice.
    if key.state(request.effective_now) == ApiKeyState::Revoked {
        return Ok(answer::see_other(&format!("/keys/{}", key.id.0)));
    }
    let template = RevokePage {
        page: request.frame("/keys"),
        number: key.id.0,
        name: key.name,
        partial: key.partial,
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /keys/{number}/revoke`: durable, and in force for every request that starts, before the
/// answer is sent.
pub(crate) fn revoke(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    let viewer = request.viewer()?;
    let actor = Actor::Account(&viewer.account.email);
    Operations::of_service(&request.site.service, actor).revoke_api_key(key.id)?;
    let location = match key.account {
        Some(owner) if owner == viewer.account.id => "/keys".to_owned(),
        Some(owner) => format!("/admin/accounts/{}", owner.0),
        None => "/admin/keys".to_owned(),
    };
    Ok(request.see_other_with(&location, Notice::KeyRevoked))
}
