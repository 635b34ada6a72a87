//! One API key: its page, its usage, its end.

use askama::Template;
use http::StatusCode;
use subcat_engine::event::Change;
use subcat_engine::model::{ApiKey, ApiKeyId, ApiKeyState, Scopes};

use super::key_list::KeyRow;
use crate::web::answer::{self, PageResult, Refusal};
use crate::web::chart::{self, UsageView};
use crate::web::frame::Frame;
use crate::web::visit::Visit;

#[derive(Template)]
#[template(path = "key.html")]
struct KeyPage {
    page: Frame,
    key: KeyRow,
    scopes: String,
    limit: String,
    revoked: String,
    /// Whose it is, when it is somebody else's and an administrator looks.
    owner: String,
    owner_number: u64,
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

/// Scopes as lists show them.
pub(super) fn scope_names(scopes: Scopes) -> String {
    scopes.names().collect::<Vec<_>>().join(", ")
}

/// The key with this number, when it is the viewer's own or the viewer is an administrator; for
/// anyone else it does not exist.
fn find(visit: &Visit, number: &str) -> Result<ApiKey, Refusal> {
    let viewer = visit.viewer()?;
    let id = ApiKeyId(number.parse().map_err(|_| Refusal::NotFound)?);
    let key = visit.site.service.engine.api_key(id);
    key.filter(|key| viewer.is_admin() || key.account == Some(viewer.account.id))
        .ok_or(Refusal::NotFound)
}

/// `GET /keys/{number}`.
pub(crate) fn show(visit: &Visit, number: &str) -> PageResult {
    let key = find(visit, number)?;
    let viewer = visit.viewer()?;
    let engine = &visit.site.service.engine;
    let days_count = chart::period(visit.query.get("days"));
    let today = visit.now.day();
    let first = chart::first_day(today, days_count);
    engine.fold_downloads(visit.now);
    let usage = engine.api_key_usage(key.id, first, today)?;
    let stranger = key.account.filter(|owner| *owner != viewer.account.id);
    let owner = stranger.and_then(|owner| engine.account(owner));
    let limit = key
        .limit
        .unwrap_or(visit.site.service.config.rate_limit.api_key);
    let unit = visit.lang.t("requests in", "peticiones en");
    let template = KeyPage {
        page: visit.frame("/keys"),
        scopes: scope_names(key.scopes),
        limit: format!("{} {unit} {} s", limit.requests, limit.window_seconds),
        revoked: key
            .revoked_at
            .map_or(String::new(), |time| visit.lang.moment(time)),
        owner_number: owner.as_ref().map_or(0, |owner| owner.id.0),
        owner: owner.map_or(String::new(), |owner| owner.email.as_str().to_owned()),
        usage: UsageView::new(visit.lang, &usage, today, days_count),
        key: KeyRow::new(visit, &key)?,
    };
    answer::page(StatusCode::OK, &template)
}

/// `GET /keys/{number}/revoke`: asks, naming the key.
pub(crate) fn show_revoke(visit: &Visit, number: &str) -> PageResult {
    let key = find(visit, number)?;
    if key.state(visit.now) == ApiKeyState::Revoked {
        return Ok(answer::see_other(&format!("/keys/{}", key.id.0)));
    }
    let template = RevokePage {
        page: visit.frame("/keys"),
        number: key.id.0,
        name: key.name,
        partial: key.partial,
    };
    answer::page(StatusCode::OK, &template)
}

/// `POST /keys/{number}/revoke`: durable, and in force for every request that starts, before the
/// answer is sent.
pub(crate) fn revoke(visit: &Visit, number: &str) -> PageResult {
    let key = find(visit, number)?;
    let viewer = visit.viewer()?;
    let revoked = Change::RevokeApiKey(key.id).by(viewer.account.email.as_str(), visit.now);
    visit.site.service.engine.apply(vec![revoked])?;
    visit.site.service.reload_api_keys();
    match key.account {
        Some(owner) if owner == viewer.account.id => Ok(answer::see_other("/keys?notice=revoked")),
        Some(owner) => Ok(answer::see_other(&format!(
            "/admin/accounts/{}?notice=revoked",
            owner.0
        ))),
        None => Ok(answer::see_other(&format!("/keys/{}", key.id.0))),
    }
}
