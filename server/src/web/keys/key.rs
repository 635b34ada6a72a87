//! The page of an API key: its facts, its usage, its revocation.

use askama::Template;
use http::StatusCode;
use subcat_engine::{ApiKey, ApiKeyId, ApiKeyState, KeyName, RateLimit};

use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::chart::UsageView;
use crate::web::frame::error::PageError;
use crate::web::frame::form_rejection::{FormFault, FormRejection};
use crate::web::frame::key_list::KeyRow;
use crate::web::frame::language::Lang;
use crate::web::frame::notice::Notice;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::scope_names::scope_names;
use crate::web::frame::usage_span::SpanUsage;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "keys/key.html")]
struct KeyPage {
    page: Frame,
    key: KeyRow,
    scopes: String,
    limit: String,
    revoked: String,
    /// Email address of the owner, if an administrator looks at the key of another account; empty
    /// otherwise.
    owner: String,
    /// Id of that account; 0 if `owner` is empty.
    owner_number: u64,
    fault: FormFault,
    /// Value of the field of the name.
    typed_name: String,
    /// True if no account owns the key.
    is_unowned: bool,
    /// Fields of the form of the limit: empty for the server's default.
    limit_requests: String,
    limit_seconds: String,
    /// The server's default.
    default_limit: String,
    usage: UsageView,
}

#[derive(Template)]
#[template(path = "keys/key_revoke.html")]
struct RevokePage {
    page: Frame,
    number: u64,
    name: String,
    partial: String,
}

/// The key with this number, if it belongs to the viewer or the viewer is an administrator.
/// Others get the answer of a key that does not exist.
pub(crate) fn find(request: &WebRequest, number: &str) -> Result<ApiKey, PageError> {
    let viewer = request.viewer()?;
    let id = ApiKeyId(number.parse().map_err(|_| PageError::NotFound)?);
    let key = request.accounts().api_key(id);
    key.filter(|key| viewer.is_admin() || key.account == Some(viewer.account.id))
        .ok_or(PageError::NotFound)
}

/// `GET /keys/{number}`.
pub(crate) fn show(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    key_page(request, &key, None)
}

/// `POST /keys/{number}`: a new name, or with `action=limit` a new limit.
pub(crate) async fn change(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    match request.form.get("action") {
        "limit" => set_limit(request, &key).await,
        _ => rename(request, &key).await,
    }
}

/// A limit of its own, by an administrator; two empty fields are the server's default.
async fn set_limit(request: &WebRequest, key: &ApiKey) -> PageResult {
    request.admin()?;
    let fields = ["requests", "seconds"].map(|name| request.form.get(name));
    let limit = match fields {
        ["", ""] => None,
        [requests, seconds] => match RateLimit::parse(&format!("{requests}/{seconds}")) {
            None => return key_page(request, key, Some(FormRejection::InvalidLimit)),
            limit => limit,
        },
    };
    let operations = request.operations()?;
    operations.set_api_key_limit(key.id, limit).await?;
    let location = format!("/keys/{}", key.id.0);
    Ok(request.see_other_with(&location, Notice::KeyLimitChanged))
}

async fn rename(request: &WebRequest, key: &ApiKey) -> PageResult {
    let Some(name) = KeyName::parse(request.form.get("name")) else {
        return key_page(request, key, Some(FormRejection::InvalidKeyName));
    };
    request.operations()?.rename_api_key(key.id, &name).await?;
    let location = format!("/keys/{}", key.id.0);
    Ok(request.see_other_with(&location, Notice::KeyRenamed))
}

/// The page, with the reason if the form was rejected.
fn key_page(request: &WebRequest, key: &ApiKey, rejection: Option<FormRejection>) -> PageResult {
    let (status, fault) = FormFault::of(rejection, "", request.lang);
    let viewer = request.viewer()?;
    let engine = &request.site.service.engine;
    let usage = SpanUsage::read(request, Some(key.id))?;
    let other_owner = key.account.filter(|owner| *owner != viewer.account.id);
    let owner = other_owner.and_then(|owner| engine.accounts().get(owner));
    let limits = &request.site.service.rate_limits;
    let limit = limits.of_key(key);
    let typed_limit = match fault.field {
        "requests" => ["requests", "seconds"].map(|name| request.form.get(name).to_owned()),
        _ => key.limit.map_or([String::new(), String::new()], |own| {
            [own.requests.to_string(), own.window_seconds.to_string()]
        }),
    };
    let [limit_requests, limit_seconds] = typed_limit;
    let template = KeyPage {
        page: request.frame("/keys"),
        scopes: scope_names(key.scopes, request.lang),
        limit: limit_in_words(limit, request.lang),
        default_limit: limit_in_words(limits.defaults().of_scopes(key.scopes), request.lang),
        limit_requests,
        limit_seconds,
        revoked: key
            .revoked_at
            .filter(|at| *at <= request.effective_now)
            .map_or(String::new(), |time| request.lang.moment(time)),
        owner_number: owner.as_ref().map_or(0, |owner| owner.id.0),
        owner: owner.map_or(String::new(), |owner| owner.email.as_str().to_owned()),
        is_unowned: key.account.is_none(),
        usage: usage.view(request, Some(per_day(limit))),
        typed_name: match fault.field {
            "name" => request.form.get("name").to_owned(),
            _ => key.name.clone(),
        },
        fault,
        key: KeyRow::new(request, key)?,
    };
    answer::page(status, &template)
}

/// `60 requests in 60 s`.
fn limit_in_words(limit: RateLimit, lang: Lang) -> String {
    let unit = lang.t("requests in", "peticiones en");
    let requests = lang.number(u64::from(limit.requests.get()));
    format!("{requests} {unit} {} s", limit.window_seconds)
}

/// Maximum number of requests in a day under a limit.
fn per_day(limit: RateLimit) -> u64 {
    u64::from(limit.requests.get()) * 86_400 / u64::from(limit.window_seconds.get())
}

/// `GET /keys/{number}/usage.csv`: the days of the chart, for a spreadsheet.
pub(crate) fn usage_csv(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    Ok(answer::bytes(
        StatusCode::OK,
        "text/csv; charset=utf-8",
        SpanUsage::read(request, Some(key.id))?.csv(),
    ))
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
pub(crate) async fn revoke(request: &WebRequest, number: &str) -> PageResult {
    let key = find(request, number)?;
    request.operations()?.revoke_api_key(key.id).await?;
    let location = match key.account {
        Some(owner) if owner == request.viewer()?.account.id => "/keys".to_owned(),
        Some(owner) => format!("/admin/accounts/{}", owner.0),
        None => "/admin/keys".to_owned(),
    };
    Ok(request.see_other_with(&location, Notice::KeyRevoked))
}
