//! The pages of keys: those of an account, and those of everybody for administrators.

use askama::Template;
use http::StatusCode;

use crate::web::frame::answer::{self, PageResult};
use crate::web::frame::key_list::KeyList;
use crate::web::frame::page_frame::Frame;
use crate::web::frame::web_request::WebRequest;

#[derive(Template)]
#[template(path = "keys/keys.html")]
struct KeysPage {
    page: Frame,
    list: KeyList,
}

/// `GET /keys`.
pub(crate) fn show(request: &WebRequest) -> PageResult {
    let viewer = request.viewer()?;
    let template = KeysPage {
        page: request.frame("/keys"),
        list: KeyList::of(request, viewer.account.id)?,
    };
    answer::page(StatusCode::OK, &template)
}

#[derive(Template)]
#[template(path = "keys/admin_keys.html")]
struct AllKeysPage {
    page: Frame,
    list: KeyList,
}

/// `GET /admin/keys`: the keys of all accounts, and those that no account owns.
pub(crate) fn show_all(request: &WebRequest) -> PageResult {
    request.admin()?;
    let template = AllKeysPage {
        page: request.frame("/admin"),
        list: KeyList::of_all(request)?,
    };
    answer::page(StatusCode::OK, &template)
}
