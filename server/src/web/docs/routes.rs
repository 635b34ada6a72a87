//! Rows of the table of routes.

use super::{changes, openapi_file, reference};
use crate::request::Caching;
use crate::request::RouteAccess::Anybody;
use crate::web::frame::page_route::PageHandler::{Blocking, Inline};
use crate::web::frame::page_route::{PageRoute, at};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/openapi.json", Anybody)
        .get(Inline(openapi_file::show))
        .cached(Caching::Compared),
    at("/openapi-address.json", Anybody).get(Inline(openapi_file::show_address)),
    at("/docs", Anybody).get(Blocking(reference::show)),
    at("/docs/changes", Anybody).get(Inline(changes::show)),
];
