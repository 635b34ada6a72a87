//! Rows of the table of routes.

use super::{accounts, admin, audit, files, links, settings, status};
use crate::request::RouteAccess::{Administrators, Anybody};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing, Inline};
use crate::web::frame::page_route::{PageRoute, at, page, page_with};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/status", Anybody).get(Inline(status::show)),
    at("/admin", Administrators)
        .get(Blocking(admin::show))
        .reads_catalog(),
    at("/admin/usage.csv", Administrators).get(Blocking(admin::usage_csv)),
    at("/admin/audit", Administrators).get(Blocking(audit::show)),
    at("/admin/audit.csv", Administrators).get(Blocking(audit::export)),
    at("/admin/settings", Administrators).get(Blocking(settings::show)),
    at("/admin/files", Administrators)
        .get(Blocking(files::show))
        .post(Changing(page!(files::forget))),
    at("/admin/accounts", Administrators)
        .get(Blocking(accounts::show_all))
        .post(Changing(page!(links::invite))),
    at("/admin/registration", Administrators).post(Changing(page!(accounts::set_registration))),
    at("/admin/accounts/{number}/change", Administrators).get(BlockingWith(accounts::show_change)),
    at("/admin/accounts/{number}", Administrators)
        .get(BlockingWith(accounts::show))
        .post(Changing(page_with!(accounts::change))),
    at("/admin/accounts/{number}/password-link", Administrators)
        .post(Changing(page_with!(links::password_link))),
];
