//! Rows of the table of routes.

use super::{download, feed, front, look, results, title, uploader};
use crate::request::Caching;
use crate::request::RouteAccess::{Anybody, CatalogReaders, FeedReaders, SignedIn};
use crate::web::frame::page_route::PageHandler::{Blocking, BlockingWith, Changing, Waiting};
use crate::web::frame::page_route::{PageRoute, at, page, page_with};

pub(crate) const ROUTES: &[PageRoute] = &[
    at("/", Anybody).get(Blocking(front::show)).reads_catalog(),
    at("/catalog", CatalogReaders)
        .get(Blocking(results::show))
        .searches(),
    at("/catalog/{id}", CatalogReaders)
        .get(Waiting(page_with!(results::show_record)))
        .searches(),
    at("/catalog/{id}/look", CatalogReaders)
        .get(Waiting(page_with!(look::show)))
        .reads_catalog(),
    at("/catalog/{id}/download", CatalogReaders)
        .get(Waiting(|request, id| {
            Box::pin(async move { download::download(&request, &id) })
        }))
        .reads_catalog()
        .cached(Caching::ComparedPrivately),
    at("/title/{id}", CatalogReaders)
        .get(BlockingWith(title::show))
        .reads_catalog(),
    at("/uploader", CatalogReaders)
        .get(Blocking(uploader::show))
        .reads_catalog(),
    at("/feed.atom", FeedReaders)
        .get(Blocking(feed::show))
        .searches()
        .cached(Caching::Minutes),
    at("/profile/feed", SignedIn).post(Changing(page!(feed::renew))),
];
