//! A request to the pages, with its session, language and form.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT_LANGUAGE, HOST, USER_AGENT};
use http::{HeaderMap, Method, Request, Response};
use subcat_engine::{AccountsHandle, Change, Outcome, Timestamp};

use super::answer::{self, PageBody};
use super::error::PageError;
use super::language::Lang;
use super::notice::{NOTICE_COOKIE, Notice};
use super::page_frame::{Frame, Theme};
use super::params::{self, Params};
use super::session;
use super::site::Site;
use super::user_agent;
use super::viewer::Viewer;
use crate::auth::without_keys;
use crate::ops::Operations;
use crate::request::without_base;
use crate::runtime::{ClientNetwork, WorkKind};
use crate::service::Actor;

/// The one path with a token in its query.
const FEED_PATH: &str = "/feed.atom";

/// A request to a page.
pub(crate) struct WebRequest {
    pub(crate) site: Arc<Site>,
    pub(crate) method: Method,
    /// Begins with exactly one slash: a link to a path with two leads to another site.
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    /// The undecoded query string.
    pub(crate) raw_query: String,
    pub(crate) query: Params,
    /// The submitted form; empty unless the method is POST.
    pub(crate) form: Params,
    /// The client's address as the throttle counts it (IPv6 by its /64).
    pub(crate) peer: ClientNetwork,
    /// True if the client uses https, so that cookies are `Secure`.
    pub(crate) is_secure: bool,
    pub(crate) lang: Lang,
    pub(crate) theme: Theme,
    /// Message of the request before this one.
    pub(crate) notice: Option<Notice>,
    /// The signed-in account.
    pub(crate) viewer: Option<Viewer>,
    pub(crate) now: Timestamp,
    /// The second that decides about expiry.
    pub(crate) effective_now: Timestamp,
}

impl WebRequest {
    /// Parses a request. Cost: a look-up of the session in memory.
    pub(crate) fn read(
        site: &Arc<Site>,
        request: Request<Bytes>,
        peer: IpAddr,
        is_https: bool,
    ) -> Self {
        let (head, body) = request.into_parts();
        // A proxy may terminate TLS without a header that says so; then the configured URL decides.
        let is_secure = is_https || site.service.config().has_https_url();
        let now = site.service.now();
        let effective_now = site.service.effective_now(now);
        let config = site.service.config();
        let path = shown_path(without_base(head.uri.path(), config.base_path()));
        let sent_query = head.uri.query().unwrap_or("");
        // A key in a mistyped address is not shown, logged or linked (API.md 20.5). A feed is
        // opened by a token of the same shape.
        let raw_query = if path == FEED_PATH {
            sent_query.to_owned()
        } else {
            without_keys(sent_query).into_owned()
        };
        let form = match head.method {
            Method::POST => Params::parse(&String::from_utf8_lossy(&body)),
            _ => Params::default(),
        };
        let accepted = head.headers.get(ACCEPT_LANGUAGE);
        let accepted = accepted.and_then(|value| value.to_str().ok());
        // A choice in a cookie wins over the preference of the browser.
        let chosen_lang = session::cookie(&head.headers, "lang").and_then(Lang::parse);
        let chosen_theme = session::cookie(&head.headers, "theme").and_then(Theme::parse);
        Self {
            viewer: session::viewer(&site.service, &head.headers, is_secure, effective_now),
            site: Arc::clone(site),
            method: head.method,
            path,
            query: Params::parse(&raw_query),
            raw_query,
            form,
            peer: ClientNetwork::of(peer),
            is_secure,
            lang: chosen_lang.unwrap_or_else(|| Lang::negotiate(accepted.unwrap_or(""))),
            theme: chosen_theme.unwrap_or(Theme::Auto),
            notice: session::cookie(&head.headers, NOTICE_COOKIE).and_then(Notice::parse),
            headers: head.headers,
            now,
            effective_now,
        }
    }

    /// Segments of the path; slashes at its end and repeated ones are ignored.
    pub(crate) fn segments(&self) -> Vec<&str> {
        let parts = self.path.split('/');
        parts.filter(|part| !part.is_empty()).collect()
    }

    /// The path, with the query if there is one.
    pub(crate) fn target(&self) -> String {
        params::target(&self.path, &self.raw_query)
    }

    /// The signed-in account; otherwise the error that leads to the sign-in page.
    pub(crate) fn viewer(&self) -> Result<&Viewer, PageError> {
        self.viewer.as_ref().ok_or(PageError::NotSignedIn)
    }

    /// Checks that the client may read the catalog: with a session, or without one if the catalog
    /// is public.
    pub(crate) fn reader(&self) -> Result<(), PageError> {
        if self.viewer.is_some() || self.site.service.config().is_catalog_public {
            Ok(())
        } else {
            Err(PageError::NotSignedIn)
        }
    }

    /// The signed-in account if it is an administrator.
    pub(crate) fn admin(&self) -> Result<&Viewer, PageError> {
        let viewer = self.viewer()?;
        if viewer.is_admin() {
            Ok(viewer)
        } else if viewer.is_step_missing {
            Err(PageError::StepMissing)
        } else {
            Err(PageError::Forbidden)
        }
    }

    /// Accounts, keys and sessions.
    pub(crate) fn accounts(&self) -> AccountsHandle<'_> {
        self.site.service.engine.accounts()
    }

    /// Operations in the name of the signed-in account.
    pub(crate) fn operations(&self) -> Result<Operations<'_>, PageError> {
        let actor = Actor::Account(&self.viewer()?.account.email);
        Ok(Operations::of_service(&self.site.service, actor))
    }

    /// Changes accounts or API keys in the name of the signed-in account.
    pub(crate) async fn change(&self, change: Change) -> Result<Outcome, PageError> {
        let actor = Actor::Account(&self.viewer()?.account.email);
        Ok(self.site.service.change(change, actor).await?)
    }

    /// Browser and system that sent the request, as far as they are known, and its address: by them
    /// the owner of an account tells sessions apart.
    pub(crate) fn device(&self) -> String {
        let agent = self.headers.get(USER_AGENT);
        let agent = agent.and_then(|agent| agent.to_str().ok());
        let device = user_agent::device(agent.unwrap_or(""));
        if device.is_empty() {
            return self.peer.to_string();
        }
        format!("{device} · {}", self.peer)
    }

    /// The frame of a page of this section (the path of a navigation entry).
    pub(crate) fn frame(&self, section: &'static str) -> Frame {
        let mut frame = Frame::new(self.lang, self.theme, self.viewer.as_ref());
        frame.section = section;
        frame.is_registration_open = self.is_registration_open();
        frame.is_searchable = self.reader().is_ok();
        frame.notice = self.notice.map_or("", |notice| notice.text(self.lang));
        frame.at(&self.path, &self.query)
    }

    /// The frame of a page that shows something this once. Switching the language would load the
    /// page again, without it.
    pub(crate) fn frame_once(&self, section: &'static str) -> Frame {
        Frame {
            is_switchable: false,
            ..self.frame(section)
        }
    }

    /// The frame of a form that is shown again after it was posted: its links lead to the page of
    /// the form, at `path`, with these parameters.
    pub(crate) fn form_frame(&self, section: &'static str, path: &str, query: &Params) -> Frame {
        self.frame(section).at(path, query)
    }

    /// A redirect to a page that shows `notice`, once.
    pub(crate) fn see_other_with(&self, location: &str, notice: Notice) -> Response<PageBody> {
        let cookie = notice.cookie(self.is_secure);
        answer::with_cookie(answer::see_other(location), cookie)
    }

    /// A redirect to the sign-in page, which shows `notice`; the session is over.
    pub(crate) fn signed_out(&self, notice: Notice) -> Response<PageBody> {
        let cookie = session::forget(self.is_secure);
        answer::with_cookie(self.see_other_with("/signin", notice), cookie)
    }

    /// True if another site led here, so that the session cookie, which is `SameSite=Strict`, was
    /// left out. Browsers without the header count as coming from this site.
    pub(crate) fn is_from_elsewhere(&self) -> bool {
        let site = self.headers.get("sec-fetch-site");
        site.is_some_and(|site| site == "cross-site" || site == "same-site")
    }

    pub(crate) fn is_registration_open(&self) -> bool {
        self.site.service.is_registration_open()
    }

    /// Base URL of this site without a final slash: `public_url`, or the `Host` of the request.
    pub(crate) fn base_url(&self) -> String {
        let public_url = self.site.service.config().public_url.clone();
        public_url.unwrap_or_else(|| self.host_url())
    }

    /// Canonical address of a page of the catalog for search engines; empty if they may not read
    /// it.
    pub(crate) fn canonical(&self, path: &str) -> String {
        if self.site.service.config().is_catalog_public {
            format!("{}{path}", self.base_url())
        } else {
            String::new()
        }
    }

    /// Origins of this site: that of `public_url`, and the `Host` of the request.
    pub(crate) fn origins(&self) -> Vec<String> {
        let config = self.site.service.config();
        let public_url = config.public_url.as_deref();
        let mut origins: Vec<String> = public_url.and_then(origin_of).into_iter().collect();
        origins.push(self.host_url());
        origins
    }

    fn host_url(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        let host = self.headers.get(HOST).and_then(|host| host.to_str().ok());
        // It is shown in commands to paste into a shell: allow only characters of host names.
        let is_plain = |host: &&str| {
            let is_host = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
            !host.is_empty() && host.chars().all(is_host)
        };
        match host.filter(is_plain) {
            Some(host) => format!("{scheme}://{host}"),
            None => format!("{scheme}://{}", self.site.service.config().listen),
        }
    }

    /// Time since the process started, the clock of the throttles.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_micros(self.site.service.clock.now().monotonic_us)
    }

    /// Runs a change on blocking threads: its future may block for the disk when it is polled, and
    /// waits for the log of a cluster without a thread.
    pub(crate) async fn changing<T, W>(
        self: &Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> W,
    ) -> Result<T, PageError>
    where
        T: Send + 'static,
        W: Future<Output = Result<T, PageError>> + Send + 'static,
    {
        let control = &self.site.service.control;
        let work = work(Arc::clone(self));
        match control.run_waiting(WorkKind::Changes, work).await {
            Ok(result) => result,
            Err(error) => Err(PageError::Task(Box::new(error))),
        }
    }

    /// Runs work that blocks (reading of tables, compression) on a blocking thread, so that the two
    /// control threads stay free.
    pub(crate) async fn blocking<T: Send + 'static>(
        self: &Arc<Self>,
        kind: WorkKind,
        work: impl FnOnce(&Self) -> Result<T, PageError> + Send + 'static,
    ) -> Result<T, PageError> {
        let request = Arc::clone(self);
        let control = &self.site.service.control;
        match control.run(kind, move || work(&request)).await {
            Ok(result) => result,
            Err(error) => Err(PageError::Task(Box::new(error))),
        }
    }
}

/// The path of a request as pages show it: that of an address without its key.
fn shown_path(path: &str) -> String {
    match without_keys(path) {
        Cow::Borrowed(path) => local_path(path),
        Cow::Owned(_) => "/a/…".to_owned(),
    }
}

/// The path with exactly one slash at its beginning.
fn local_path(path: &str) -> String {
    format!("/{}", path.trim_start_matches(['/', '\\']))
}

/// The origin (scheme, host and port) of a URL.
fn origin_of(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let host = rest.split('/').next()?;
    Some(format!("{scheme}://{host}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_on_this_site() {
        let check = |path: &str, expected: &str| assert_eq!(local_path(path), expected);
        check("/", "/");
        check("/catalog//x/", "/catalog//x/");
        check("//evil.example/", "/evil.example/");
        check("/\\/evil.example", "/evil.example");
    }

    #[test]
    fn an_origin_has_no_path() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(origin_of(url).as_deref(), expected, "{url}");
        };
        check("https://sub.example", Some("https://sub.example"));
        check(
            "https://sub.example:8443/a/b",
            Some("https://sub.example:8443"),
        );
        check("sub.example", None);
    }
}
