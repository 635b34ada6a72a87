//! The settings in effect, for administrators.

use askama::Template;
use http::StatusCode;
use serde_json::Value;

use crate::config::{Origin, SettingShown};
use crate::service::{REGISTRATION_SETTING, Service};
use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::language::Lang;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

struct SettingRow {
    name: &'static str,
    value: String,
    /// A number of bytes in the largest unit; empty for another value, and for none.
    size: String,
    origin: String,
    is_default: bool,
}

#[derive(Template)]
#[template(path = "console/admin_settings.html")]
struct SettingsPage {
    page: Frame,
    rows: Vec<SettingRow>,
}

/// `GET /admin/settings`: names and values as `subcat check` prints them, without secrets.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let lang = request.lang;
    let origins = request.site.service.origins();
    let row = |setting: SettingShown| SettingRow {
        name: setting.name,
        size: match setting.value.as_u64() {
            Some(bytes) if setting.name.ends_with("_bytes") && 1_024 <= bytes => lang.bytes(bytes),
            _ => String::new(),
        },
        value: match setting.value {
            Value::String(text) => text,
            Value::Null => "-".to_owned(),
            other => other.to_string(),
        },
        origin: match origins.as_ref().and_then(|known| known.of(setting.name)) {
            Some(origin) => origin_text(origin, lang),
            // Without sources it is only known whether the value is the default.
            None if setting.is_default => lang.t("default", "por defecto").to_owned(),
            None => lang.t("set", "establecido").to_owned(),
        },
        is_default: setting.is_default,
    };
    let shown = request.site.service.config().shown();
    let mut rows: Vec<SettingRow> = shown.into_iter().map(row).collect();
    if let Some(value) = chosen_registration(&request.site.service) {
        let chosen = rows.iter_mut().find(|row| row.name == REGISTRATION_SETTING);
        if let Some(row) = chosen {
            value.clone_into(&mut row.value);
            lang.t("administrator", "administrador")
                .clone_into(&mut row.origin);
            row.is_default = false;
        }
    }
    // What was set here comes first, in the order of the settings.
    rows.sort_by_key(|row| row.is_default);
    let template = SettingsPage {
        page: request.frame("/admin"),
        rows,
    };
    answer::page(StatusCode::OK, &template)
}

/// The value that administrators have chosen on a page, where no source of the settings has one.
fn chosen_registration(service: &Service) -> Option<&'static str> {
    let is_open = service.engine.accounts().registration()?;
    match (service.is_registration_set(), is_open) {
        (true, _) => None,
        (false, true) => Some("open"),
        (false, false) => Some("closed"),
    }
}

/// An origin as `subcat check` prints it, in the language of the page.
fn origin_text(origin: &Origin, lang: Lang) -> String {
    match (lang, origin) {
        (Lang::En, origin) => origin.to_string(),
        (Lang::Es, Origin::Default) => "por defecto".to_owned(),
        (Lang::Es, Origin::File(path, line)) => format!("{}, línea {line}", path.display()),
        (Lang::Es, Origin::Variable(name)) => format!("variable de entorno {name}"),
        (Lang::Es, Origin::CommandLine(flag)) => format!("línea de órdenes {flag}"),
        (Lang::Es, Origin::SecretFile(path, by)) => {
            format!("{} ({})", path.display(), origin_text(by, lang))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_told_in_both_languages() {
        let by = Box::new(Origin::Variable("SUBCAT_UPSTREAM_URL_FILE".to_owned()));
        let origin = Origin::SecretFile("/run/url".into(), by);
        assert_eq!(origin_text(&origin, Lang::En), origin.to_string());
        assert_eq!(
            origin_text(&origin, Lang::Es),
            "/run/url (variable de entorno SUBCAT_UPSTREAM_URL_FILE)"
        );
    }
}
