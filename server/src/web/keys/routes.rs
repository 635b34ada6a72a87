//! Rows of the table of routes.

use super::{key, key_list, key_new, key_roll};
use crate::request::RouteAccess::{Administrators, SignedIn};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing};
use crate::web::frame::page_route::{PageRoute, at, page, page_with};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/keys", SignedIn)
        .get(Blocking(key_list::show))
        .post(Changing(page!(key_new::create))),
    at("/keys/new", SignedIn).get(Blocking(key_new::show)),
    at("/keys/{number}", SignedIn)
        .get(BlockingWith(key::show))
        .post(Changing(page_with!(key::change))),
    at("/keys/{number}/roll", SignedIn)
        .get(BlockingWith(key_roll::show))
        .post(Changing(page_with!(key_roll::roll))),
    at("/keys/{number}/usage.csv", SignedIn).get(BlockingWith(key::usage_csv)),
    at("/keys/{number}/revoke", SignedIn)
        .get(BlockingWith(key::show_revoke))
        .post(Changing(page_with!(key::revoke))),
    at("/admin/keys", Administrators).get(Blocking(key_list::show_all)),
];
