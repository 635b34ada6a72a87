//! Rows of the table of routes.

use super::{link, profile, second_step, sign_in};
use crate::request::RouteAccess::{Anybody, SignedIn};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing, Waiting};
use crate::web::frame::page_route::{PageRoute, at, page, page_with};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/setup", Anybody)
        .get(Blocking(sign_in::show_set_up))
        .post(Waiting(page!(sign_in::set_up)))
        .hashes(),
    at("/signup", Anybody)
        .get(Blocking(sign_in::show_sign_up))
        .post(Waiting(page!(sign_in::sign_up)))
        .hashes(),
    at("/signin", Anybody)
        .get(Blocking(sign_in::show_sign_in))
        .post(Waiting(page!(sign_in::sign_in)))
        .hashes(),
    at("/signin/code", Anybody)
        .get(Blocking(second_step::show_code))
        .post(Waiting(page!(second_step::enter_code)))
        .counts_attempts(),
    at("/signout", Anybody).post(Changing(page!(sign_in::sign_out))),
    at("/profile", SignedIn)
        .get(Blocking(profile::show))
        .post(Waiting(page!(profile::change)))
        .hashes(),
    at("/profile/second-step", SignedIn)
        .get(Blocking(second_step::show))
        .post(Waiting(page!(second_step::change)))
        .hashes(),
    at("/profile/delete", SignedIn)
        .get(Blocking(profile::show_delete))
        .post(Waiting(page!(profile::delete)))
        .hashes(),
    at("/link/{token}", Anybody)
        .get(BlockingWith(link::show))
        .post(Waiting(page_with!(link::follow)))
        .hashes(),
];
