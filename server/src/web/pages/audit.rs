//! The audit log, for administrators.

use askama::Template;
use http::StatusCode;
use subcat_engine::{AuditEntry, Engine};

use crate::limits::AUDIT_ENTRIES_PER_PAGE;
use crate::service::Actor;
use crate::web::answer::{self, PageResult};
use crate::web::frame::Frame;
use crate::web::language::Lang;
use crate::web::web_request::WebRequest;

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
#[template(path = "admin_audit.html")]
struct AuditPage {
    page: Frame,
    rows: Vec<AuditRow>,
    /// True if these are not the newest entries.
    is_older: bool,
    /// Number of the last entry, if there are older ones.
    older: Option<u64>,
}

/// `GET /admin/audit`: newest first; `before` is the number of an entry.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let engine = &request.site.service.engine;
    let before = request.query.get("before").parse().ok();
    // One more than is shown tells whether there is another page.
    let mut entries = engine
        .accounts()
        .audit_log(before, AUDIT_ENTRIES_PER_PAGE + 1)?;
    let has_older = AUDIT_ENTRIES_PER_PAGE < entries.len();
    entries.truncate(AUDIT_ENTRIES_PER_PAGE);
    let last = entries.last().map(|(number, _)| *number);
    let rows = entries
        .into_iter()
        .map(|(_, entry)| row(entry, engine, request.lang));
    let template = AuditPage {
        page: request.frame("/admin"),
        rows: rows.collect(),
        is_older: before.is_some(),
        older: last.filter(|_| has_older),
    };
    answer::page(StatusCode::OK, &template)
}

fn row(entry: AuditEntry, engine: &Engine, lang: Lang) -> AuditRow {
    let account = entry.account.and_then(|id| engine.accounts().get(id));
    // For a key the detail is its name, which stands beside its number already.
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

/// The author in the language of the page: an address, or the command line.
fn actor_name(actor: String, lang: Lang) -> String {
    if actor == Actor::CommandLine.as_str() {
        lang.t("command line", "línea de órdenes").to_owned()
    } else {
        actor
    }
}

/// The action in the language of the page. An action that this version does not know, written by
/// a newer one, is shown as it is stored.
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
        "sign-in locked" => "inicio de sesión bloqueado",
        "invitation created" => "invitación creada",
        "password link created" => "enlace de contraseña creado",
        "key created" => "clave creada",
        "key renamed" => "clave renombrada",
        "key rolled" => "clave renovada",
        "key revoked" => "clave revocada",
        _ => return action.to_owned(),
    };
    match lang {
        Lang::En => action.to_owned(),
        Lang::Es => spanish.to_owned(),
    }
}
