//! A row of the table of pages: a path, its rules, its handlers.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use http::Method;

use super::answer::PageResult;
use super::web_request::WebRequest;
use crate::request::{Caching, Cost, Methods, RouteAccess, RouteRule, RouteThrottle};

/// Handler of one method of a path.
#[derive(Clone, Copy)]
pub(crate) enum PageHandler {
    /// Answers on a control thread: must not block.
    Inline(fn(&WebRequest) -> PageResult),
    /// Answers on a blocking thread, because it reads tables.
    Blocking(fn(&WebRequest) -> PageResult),
    /// The same, with the variable segment of the path.
    BlockingWith(fn(&WebRequest, &str) -> PageResult),
    /// Changes something: works on a blocking thread, waits for the log of a cluster without one.
    Changing(fn(Arc<WebRequest>, String) -> PageResultFuture),
    /// Waits for other threads: password hashing, upstream.
    Waiting(fn(Arc<WebRequest>, String) -> PageResultFuture),
}

pub(crate) type PageResultFuture = Pin<Box<dyn Future<Output = PageResult> + Send>>;

/// An async function of a request, as [`PageHandler::Changing`] and [`PageHandler::Waiting`] hold
/// one.
macro_rules! page {
    ($page:path) => {
        |request, _| Box::pin(async move { $page(&request).await })
    };
}

/// The same for one that takes the variable segment of the path, too.
macro_rules! page_with {
    ($page:path) => {
        |request, segment| Box::pin(async move { $page(&request, &segment).await })
    };
}

pub(crate) use {page, page_with};

/// A path with its rules and handlers.
pub(crate) struct PageRoute {
    pub(crate) rule: RouteRule,
    get: Option<PageHandler>,
    post: Option<PageHandler>,
}

/// A row without handlers, of a page that costs nothing and is not cached.
pub(crate) const fn at(path: &'static str, access: RouteAccess) -> PageRoute {
    PageRoute {
        rule: RouteRule {
            path,
            methods: Methods::Get,
            access,
            throttle: RouteThrottle::Nothing,
            cost: Cost::Cheap,
            is_form_checked: true,
            caching: Caching::Never,
        },
        get: None,
        post: None,
    }
}

impl PageRoute {
    /// Sets the handler of `GET` and `HEAD`.
    pub(crate) const fn get(mut self, handler: PageHandler) -> Self {
        if self.post.is_some() {
            self.rule.methods = Methods::GetAndPost;
        }
        self.get = Some(handler);
        self
    }

    /// Sets the handler of `POST`.
    pub(crate) const fn post(mut self, handler: PageHandler) -> Self {
        self.rule.methods = if self.get.is_some() {
            Methods::GetAndPost
        } else {
            Methods::Post
        };
        self.post = Some(handler);
        self
    }

    /// The page shows records, lists or files of the catalog.
    pub(crate) const fn reads_catalog(mut self) -> Self {
        self.rule.cost = Cost::ReadsCatalog;
        self.rule.throttle = RouteThrottle::Catalog;
        self
    }

    /// The page searches.
    pub(crate) const fn searches(mut self) -> Self {
        self.rule.cost = Cost::Searches;
        self.rule.throttle = RouteThrottle::Catalog;
        self
    }

    /// The form hashes a password, and counts attempts with it.
    pub(crate) const fn hashes(mut self) -> Self {
        self.rule.cost = Cost::Hashes;
        self.rule.throttle = RouteThrottle::Attempts;
        self
    }

    /// The form takes a secret without hashing it, and counts attempts with it.
    pub(crate) const fn counts_attempts(mut self) -> Self {
        self.rule.throttle = RouteThrottle::Attempts;
        self
    }

    /// Sets the caching of a successful answer.
    pub(crate) const fn cached(mut self, caching: Caching) -> Self {
        self.rule.caching = caching;
        self
    }

    /// The handler of a method; `None` if the path does not answer it.
    pub(crate) fn handler(&self, method: &Method) -> Option<PageHandler> {
        match *method {
            Method::GET | Method::HEAD => self.get,
            Method::POST => self.post,
            _ => None,
        }
    }
}
