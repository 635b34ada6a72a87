//! Rows of the table of routes.

use super::{link, profile, second_step, sign_in};
use crate::request::RouteAccess::{Anybody, SignedIn};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing, Waiting};
use crate::web::frame::page_route::{PageRoute, at};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/setup", Anybody)
        .get(Blocking(sign_in::show_set_up))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::set_up(&request).await })
        }))
        .hashes(),
    at("/signup", Anybody)
        .get(Blocking(sign_in::show_sign_up))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::sign_up(&request).await })
        }))
        .hashes(),
    at("/signin", Anybody)
        .get(Blocking(sign_in::show_sign_in))
        .post(Waiting(|request, _| {
            Box::pin(async move { sign_in::sign_in(&request).await })
        }))
        .hashes(),
    at("/signin/code", Anybody)
        .get(Blocking(second_step::show_code))
        .post(Waiting(|request, _| {
            Box::pin(async move { second_step::enter_code(&request).await })
        }))
        .counts_attempts(),
    at("/signout", Anybody).post(Changing(|request, _| {
        Box::pin(async move { sign_in::sign_out(&request).await })
    })),
    at("/profile", SignedIn)
        .get(Blocking(profile::show))
        .post(Waiting(|request, _| {
            Box::pin(async move { profile::change(&request).await })
        }))
        .hashes(),
    at("/profile/second-step", SignedIn)
        .get(Blocking(second_step::show))
        .post(Waiting(|request, _| {
            Box::pin(async move { second_step::change(&request).await })
        }))
        .hashes(),
    at("/profile/delete", SignedIn)
        .get(Blocking(profile::show_delete))
        .post(Waiting(|request, _| {
            Box::pin(async move { profile::delete(&request).await })
        }))
        .hashes(),
    at("/link/{token}", Anybody)
        .get(BlockingWith(link::show))
        .post(Waiting(|request, token| {
            Box::pin(async move { link::follow(&request, &token).await })
        }))
        .hashes(),
];
