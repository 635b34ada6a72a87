//! The audit log, for administrators.

use askama::Template;
use http::StatusCode;
use subcat_engine::{AuditEntry, Engine};

use super::audit_filter::{AuditFilter, KINDS, csv};
use crate::limits::{AUDIT_ENTRIES_EXPORTED_MAX, AUDIT_ENTRIES_PER_PAGE};
use crate::service::Actor;
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::language::Lang;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

struct AuditRow {
    at: String,
    action: String,
    actor: String,
    /// The key concerned: its number and name.
    key: Option<AuditSubject>,
    /// The account concerned: its number and address.
    account: Option<AuditSubject>,
    detail: String,
}

/// A key or an account that has a page.
struct AuditSubject {
    number: u64,
    name: String,
}

#[derive(Template)]
#[template(path = "console/admin_audit.html")]
struct AuditPage {
    page: Frame,
    filter: AuditFilter,
    kinds: Vec<KindChoice>,
    rows: Vec<AuditRow>,
    /// True if these are not the newest entries.
    is_older: bool,
    /// Sequence number of the last entry that was read, if there are older ones.
    older: Option<u64>,
}

/// A kind of actions to choose.
struct KindChoice {
    value: &'static str,
    label: &'static str,
    is_chosen: bool,
}

fn kinds(chosen: &str, lang: Lang) -> Vec<KindChoice> {
    let label = |kind| match kind {
        "account" => lang.t("accounts", "cuentas"),
        "key" => lang.t("API keys", "claves de API"),
        "password" => lang.t("passwords", "contraseñas"),
        "role" => lang.t("roles", "roles"),
        "registration" => lang.t("registration", "registro de cuentas"),
        _ => lang.t("sign-ins", "inicios de sesión"),
    };
    let choice = |value| KindChoice {
        value,
        label: label(value),
        is_chosen: value == chosen,
    };
    KINDS.map(choice).into()
}

/// `GET /admin/audit.csv`: the newest entries that pass the filter, for a spreadsheet.
pub(crate) fn export(request: &WebRequest) -> PageResult {
    request.admin()?;
    let engine = &request.site.service.engine;
    let before = request.query.get("before").parse().ok();
    let filter = AuditFilter::read(&request.query);
    let found = filter.entries(engine, before, AUDIT_ENTRIES_EXPORTED_MAX)?;
    let text = csv(&found.entries);
    Ok(answer::bytes(
        StatusCode::OK,
        "text/csv; charset=utf-8",
        text,
    ))
}

/// `GET /admin/audit`: newest first; `before` is the number of an entry, `find` and `kind` filter.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let engine = &request.site.service.engine;
    let before = request.query.get("before").parse().ok();
    let filter = AuditFilter::read(&request.query);
    // One more than is shown, to find out if there is another page.
    let mut found = filter.entries(engine, before, AUDIT_ENTRIES_PER_PAGE + 1)?;
    if AUDIT_ENTRIES_PER_PAGE < found.entries.len() {
        found.entries.truncate(AUDIT_ENTRIES_PER_PAGE);
        found.next = found.entries.last().map(|(number, _)| *number);
    }
    let rows = found
        .entries
        .into_iter()
        .map(|(_, entry)| row(entry, engine, request.lang));
    let template = AuditPage {
        page: request.frame("/admin"),
        rows: rows.collect(),
        is_older: before.is_some(),
        older: found.next,
        kinds: kinds(filter.kind, request.lang),
        filter,
    };
    answer::page(StatusCode::OK, &template)
}

fn row(entry: AuditEntry, engine: &Engine, lang: Lang) -> AuditRow {
    let account = entry.account.and_then(|id| engine.accounts().get(id));
    // For a key the detail is its name, which is shown beside its id already.
    let (key, detail) = match entry.api_key {
        Some(id) => {
            let (number, name) = (id.0, entry.detail);
            (Some(AuditSubject { number, name }), String::new())
        }
        None => (None, entry.detail),
    };
    AuditRow {
        at: lang.moment(entry.at),
        action: action_name(&entry.action, lang),
        actor: actor_name(entry.actor, lang),
        key,
        account: account.map(|account| AuditSubject {
            number: account.id.0,
            name: account.email.as_str().to_owned(),
        }),
        detail,
    }
}

/// The author in the language of the page: an address, the command line or the clock.
fn actor_name(actor: String, lang: Lang) -> String {
    if actor == Actor::CommandLine.as_str() {
        lang.t("command line", "línea de órdenes").to_owned()
    } else if actor == Actor::Clock.as_str() {
        lang.t("clock", "reloj").to_owned()
    } else {
        actor
    }
}

/// The action in the language of the page. An action that this version does not know, written by a
/// newer one, is shown in its stored form.
fn action_name(action: &str, lang: Lang) -> String {
    let spanish = match action {
        "account created" => "cuenta creada",
        "account disabled" => "cuenta desactivada",
        "account enabled" => "cuenta activada",
        "password changed" => "contraseña cambiada",
        "role changed to admin" => "rol cambiado a administrador",
        "role changed to user" => "rol cambiado a usuario",
        "name changed" => "nombre cambiado",
        "address changed" => "correo electrónico cambiado",
        "account deleted" => "cuenta eliminada",
        "second step turned on" => "segundo paso activado",
        "second step turned off" => "segundo paso desactivado",
        "signed out everywhere" => "todas las sesiones cerradas",
        "sign-in failed" => "inicio de sesión fallido",
        "sign-in locked" => "inicio de sesión bloqueado",
        "invitation created" => "invitación creada",
        "password link created" => "enlace de contraseña creado",
        "key created" => "clave creada",
        "key renamed" => "clave renombrada",
        "key limit changed" => "límite de clave cambiado",
        "sign-in" => "inicio de sesión",
        "key rolled" => "clave renovada",
        "key revoked" => "clave revocada",
        "registration opened" => "registro abierto",
        "registration closed" => "registro cerrado",
        "clock set" => "reloj ajustado",
        _ => return action.to_owned(),
    };
    match lang {
        Lang::En => action.to_owned(),
        Lang::Es => spanish.to_owned(),
    }
}
