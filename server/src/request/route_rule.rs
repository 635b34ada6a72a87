//! Rules of a route: the checks before its answer, and the caching after it.

use http::Method;
use subcat_engine::Scopes;

/// A path that is answered, and the rules of all its requests.
///
/// Handlers do not check these again: the dispatcher does, for each row. Tests ask every row:
/// without a session or key, with a wrong role, too often, from another site, with a body.
#[derive(Debug, Clone, Copy)]
pub struct RouteRule {
    /// Segments; one in braces matches any text.
    pub path: &'static str,
    /// Methods that have an answer.
    pub methods: Methods,
    /// Clients that get one.
    pub access: RouteAccess,
    /// Window that a request is counted in.
    pub throttle: RouteThrottle,
    /// Work that a request may cause.
    pub cost: Cost,
    /// True if a POST must come from a page of this site (API.md, 12.2).
    pub is_form_checked: bool,
    /// Caching of a successful answer.
    pub caching: Caching,
}

impl RouteRule {
    /// Returns true if the path answers this method.
    pub fn is_served(&self, method: &Method) -> bool {
        match *method {
            Method::GET | Method::HEAD => self.methods != Methods::Post,
            Method::POST => matches!(self.methods, Methods::Post | Methods::GetAndPost),
            _ => false,
        }
    }

    /// The text of the variable segment (empty if the path has none) if these segments match.
    pub fn matched<'a>(&self, segments: &[&'a str]) -> Option<&'a str> {
        let pattern = self.path.split('/').filter(|part| !part.is_empty());
        if pattern.clone().count() != segments.len() {
            return None;
        }
        let mut variable = "";
        for (expected, segment) in pattern.zip(segments) {
            if expected.starts_with('{') {
                variable = segment;
            } else if expected != *segment {
                return None;
            }
        }
        Some(variable)
    }
}

/// Methods of a path. `GET` includes `HEAD`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Methods {
    /// `GET` and `HEAD`.
    Get,
    /// `GET` and `HEAD`, and `OPTIONS` as a preflight.
    GetAndPreflight,
    /// `POST` alone.
    Post,
    /// `GET`, `HEAD` and `POST`.
    GetAndPost,
}

impl Methods {
    /// Value of the header `Allow`.
    pub const fn allowed(self) -> &'static str {
        match self {
            Self::Get => "GET, HEAD",
            Self::GetAndPreflight => "GET, HEAD, OPTIONS",
            Self::Post => "POST",
            Self::GetAndPost => "GET, HEAD, POST",
        }
    }
}

/// Clients that may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteAccess {
    /// Everybody.
    Anybody,
    /// Accounts that are signed in; everybody if the catalog is public (`web.catalog`).
    CatalogReaders,
    /// Readers of the catalog, and readers of feeds with a token (API.md, 12.14).
    FeedReaders,
    /// Accounts that are signed in.
    SignedIn,
    /// Administrators that are signed in, with a second step if that is required.
    Administrators,
    /// Holders of an API key with this scope.
    ApiKey(Scopes),
    /// Programs with an address: the path holds its key (API.md, 20.4).
    Address,
}

/// Window that bounds the requests of a client to a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouteThrottle {
    /// None. Forms of accounts have theirs on every route (API.md, 12.12).
    Nothing,
    /// Pages of the catalog, by account or address (API.md, 12.4).
    Catalog,
    /// Attempts with secrets, counted by the page, which knows the account (API.md, 12.5).
    Attempts,
    /// The window of the API key, else of the address (API.md, 8).
    ApiKey,
}

/// Work that a request may cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// Values in memory, rows of one account.
    Cheap,
    /// Records, lists or files of the catalog.
    ReadsCatalog,
    /// A search.
    Searches,
    /// Hashing of a password, tens of milliseconds.
    Hashes,
}

/// Caching of a successful answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caching {
    /// None: the answer depends on the session.
    Never,
    /// For ever: the address contains a checksum of the content.
    Forever,
    /// For a day, by everybody.
    Day,
    /// By everybody, compared by its tag each time.
    Compared,
    /// By the client that asked, compared by its tag each time.
    ComparedPrivately,
    /// For some minutes, by the client that asked.
    Minutes,
    /// By the client, as the endpoint of the API sets it.
    ApiAnswer,
}

impl Caching {
    /// Value of the header `Cache-Control`; `None` where an endpoint of the API sets it.
    pub const fn header(self) -> Option<&'static str> {
        match self {
            Self::Never => Some("no-store"),
            Self::Forever => Some("public, max-age=31536000, immutable"),
            Self::Day => Some("public, max-age=86400"),
            Self::Compared => Some("public, no-cache"),
            Self::ComparedPrivately => Some("private, no-cache"),
            Self::Minutes => Some("private, max-age=300"),
            Self::ApiAnswer => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(path: &'static str, methods: Methods) -> RouteRule {
        RouteRule {
            path,
            methods,
            access: RouteAccess::Anybody,
            throttle: RouteThrottle::Nothing,
            cost: Cost::Cheap,
            is_form_checked: true,
            caching: Caching::Never,
        }
    }

    #[test]
    fn a_segment_in_braces_matches_any_text() {
        let check = |pattern, path: &str, expected| {
            let segments: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
            let found = rule(pattern, Methods::Get).matched(&segments);
            assert_eq!(found, expected, "{pattern} {path}");
        };
        check("/", "/", Some(""));
        check("/keys/{number}", "/keys/7", Some("7"));
        check("/keys/{number}", "/keys/7/", Some("7"));
        check("/keys/{number}", "/keys", None);
        check("/keys/{number}/roll", "/keys/7/revoke", None);
        check("/keys/{number}", "/catalog/7", None);
    }

    #[test]
    fn methods_are_those_that_are_told() {
        let methods = ["GET", "HEAD", "POST", "PUT", "OPTIONS"];
        for (kind, served) in [
            (Methods::Get, ["GET", "HEAD"].as_slice()),
            (Methods::Post, &["POST"]),
            (Methods::GetAndPost, &["GET", "HEAD", "POST"]),
        ] {
            for method in methods {
                let is_served = rule("/", kind).is_served(&method.parse().unwrap());
                assert_eq!(is_served, served.contains(&method), "{kind:?} {method}");
            }
            assert_eq!(kind.allowed(), served.join(", "));
        }
    }
}
