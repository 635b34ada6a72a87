//! The settings in effect, for administrators.

use askama::Template;
use http::StatusCode;
use serde_json::Value;

use crate::config::SettingShown;
use crate::web::answer::{self, PageResult};
use crate::web::frame::Frame;
use crate::web::web_request::WebRequest;

struct SettingRow {
    name: &'static str,
    value: String,
    is_default: bool,
}

#[derive(Template)]
#[template(path = "admin_settings.html")]
struct SettingsPage {
    page: Frame,
    rows: Vec<SettingRow>,
}

/// `GET /admin/settings`: names and values as `subcat check` prints them, without secrets.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    request.admin()?;
    let row = |setting: SettingShown| SettingRow {
        name: setting.name,
        value: match setting.value {
            Value::String(text) => text,
            Value::Null => "-".to_owned(),
            other => other.to_string(),
        },
        is_default: setting.is_default,
    };
    let shown = request.site.service.config().shown();
    let template = SettingsPage {
        page: request.frame("/admin"),
        rows: shown.into_iter().map(row).collect(),
    };
    answer::page(StatusCode::OK, &template)
}
