//! Rows of the table of routes.

use super::{key, key_list, key_new, key_roll};
use crate::request::RouteAccess::{Administrators, SignedIn};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing};
use crate::web::frame::page_route::{PageRoute, at};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/keys", SignedIn)
        .get(Blocking(key_list::show))
        .post(Changing(|request, _| {
            Box::pin(async move { key_new::create(&request).await })
        })),
    at("/keys/new", SignedIn).get(Blocking(key_new::show)),
    at("/keys/{number}", SignedIn)
        .get(BlockingWith(key::show))
        .post(Changing(|request, number| {
            Box::pin(async move { key::change(&request, &number).await })
        })),
    at("/keys/{number}/roll", SignedIn)
        .get(BlockingWith(key_roll::show))
        .post(Changing(|request, number| {
            Box::pin(async move { key_roll::roll(&request, &number).await })
        })),
    at("/keys/{number}/usage.csv", SignedIn).get(BlockingWith(key::usage_csv)),
    at("/keys/{number}/revoke", SignedIn)
        .get(BlockingWith(key::show_revoke))
        .post(Changing(|request, number| {
            Box::pin(async move { key::revoke(&request, &number).await })
        })),
    at("/admin/keys", Administrators).get(Blocking(key_list::show_all)),
];
