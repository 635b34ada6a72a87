//! A file of records at a URL that an operator names, fetched again when it has changed.

use std::io::{self, Read};
use std::time::Duration;

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName, HeaderValue, IF_MODIFIED_SINCE,
    IF_NONE_MATCH, LAST_MODIFIED,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};

use super::http_client::{ClientSetupError, client_builder};
use crate::limits::UPSTREAM_REDIRECTS_MAX;
use crate::runtime::{ControlHandle, PieceReader};

/// Time to connect, and between two pieces of the body.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const READ_TIMEOUT: Duration = Duration::from_secs(60);

/// A file at a URL that cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteFileError {
    /// The text is not a URL.
    #[error("{0} is not a URL: write http://HOST/PATH or https://HOST/PATH")]
    InvalidUrl(String),
    /// Names cannot be resolved, or TLS cannot be set up.
    #[error(transparent)]
    Setup(Box<dyn std::error::Error + Send + Sync>),
    /// No answer came.
    #[error("no answer")]
    NoAnswer(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The answer is neither the file nor "not modified".
    #[error("the server answered {0}: check the URL, and whether it needs a password")]
    Status(u16),
    /// The answer is a page for people.
    #[error("the server answered with an HTML page: name the file itself")]
    Html,
}

impl From<ClientSetupError> for RemoteFileError {
    fn from(error: ClientSetupError) -> Self {
        Self::Setup(Box::new(error))
    }
}

impl From<reqwest::Error> for RemoteFileError {
    fn from(error: reqwest::Error) -> Self {
        // The address may hold a secret.
        Self::NoAnswer(Box::new(error.without_url()))
    }
}

/// The `ETag` and the date of one version of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Validators {
    etag: Option<HeaderValue>,
    modified: Option<HeaderValue>,
}

impl Validators {
    fn of(headers: &HeaderMap) -> Self {
        Self {
            etag: headers.get(ETAG).cloned(),
            modified: headers.get(LAST_MODIFIED).cloned(),
        }
    }

    /// The condition of the next request: the file has changed.
    fn condition(&self) -> HeaderMap {
        let pairs: [(HeaderName, &Option<HeaderValue>); 2] = [
            (IF_NONE_MATCH, &self.etag),
            (IF_MODIFIED_SINCE, &self.modified),
        ];
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            if let Some(value) = value {
                headers.insert(name, value.clone());
            }
        }
        headers
    }
}

/// A file at a URL.
pub struct RemoteFile {
    http: Client,
    url: Url,
    /// The URL without parts that may be secret.
    name: String,
    kept: Validators,
}

impl RemoteFile {
    /// The file at this URL. Nothing is sent yet.
    ///
    /// Errors: it is not a URL, or the client cannot be set up.
    pub fn new(text: &str) -> Result<Self, RemoteFileError> {
        let url = Url::parse(text).ok().filter(Url::has_host);
        let url = url.ok_or_else(|| RemoteFileError::InvalidUrl(text.to_owned()))?;
        let http = client_builder("the URL", text)?
            .connect_timeout(CONNECT_TIMEOUT)
            .read_timeout(READ_TIMEOUT)
            .redirect(Policy::custom(follow_unless_weaker))
            .build();
        let http = http.map_err(|error| RemoteFileError::Setup(Box::new(error)))?;
        Ok(Self {
            http,
            name: name_of(&url),
            url,
            kept: Validators::default(),
        })
    }

    /// The URL, without password and query.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Requests the file; `None` if it has not changed since its validators were kept.
    pub async fn fetch(&self) -> Result<Option<RemoteContent>, RemoteFileError> {
        let request = self
            .http
            .get(self.url.clone())
            // Nothing is decoded here: gzip is recognised by its first bytes, sent so or stored so.
            .header(ACCEPT_ENCODING, "gzip")
            .headers(self.kept.condition());
        let response = request.send().await?;
        match response.status() {
            StatusCode::OK if is_html(&response) => Err(RemoteFileError::Html),
            StatusCode::OK => Ok(Some(RemoteContent { response })),
            StatusCode::NOT_MODIFIED => Ok(None),
            other => Err(RemoteFileError::Status(other.as_u16())),
        }
    }

    /// Keeps the validators of a version that need not be sent again.
    pub fn keep(&mut self, validators: Validators) {
        self.kept = validators;
    }
}

/// The content of a file that is on its way.
pub struct RemoteContent {
    response: Response,
}

impl RemoteContent {
    /// Validators of this content.
    pub fn validators(&self) -> Validators {
        Validators::of(self.response.headers())
    }

    /// The content for code that blocks, which must not happen on the control runtime.
    pub fn into_read(self, control: &ControlHandle) -> impl Read + Send + 'static {
        let mut response = self.response;
        let (sender, reader) = PieceReader::new();
        control.spawn(async move {
            loop {
                let piece = match response.chunk().await {
                    Ok(None) => return,
                    Ok(Some(piece)) => Ok(piece),
                    Err(error) => Err(io::Error::other(error.without_url())),
                };
                let is_last = piece.is_err();
                if sender.send(piece).await.is_err() || is_last {
                    return;
                }
            }
        });
        reader
    }
}

fn is_html(response: &Response) -> bool {
    let media_type = response.headers().get(CONTENT_TYPE);
    media_type.is_some_and(|value| value.as_bytes().starts_with(b"text/html"))
}

/// Follows redirects to any host, as files of releases lie on others, but not from https to http.
fn follow_unless_weaker(attempt: Attempt<'_>) -> Action {
    let was_secure = attempt.previous().iter().any(|url| url.scheme() == "https");
    if UPSTREAM_REDIRECTS_MAX < attempt.previous().len() {
        return attempt.error("too many redirects");
    }
    if was_secure && attempt.url().scheme() != "https" {
        return attempt.error("a redirect from https to http");
    }
    attempt.follow()
}

fn name_of(url: &Url) -> String {
    let mut shown = url.clone();
    shown.set_query(None);
    shown.set_fragment(None);
    // Fails only for addresses without a host, which have no password either.
    let _ = shown.set_password(None);
    let _ = shown.set_username("");
    shown.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::Control;
    use crate::upstream::test_server::{answer, upstream};

    fn read(remote: &RemoteFile, control: &Control) -> Option<(Validators, String)> {
        let content = control.block_on(remote.fetch()).unwrap()?;
        let validators = content.validators();
        let mut text = String::new();
        let mut input = content.into_read(&control.handle());
        input.read_to_string(&mut text).unwrap();
        Some((validators, text))
    }

    #[test]
    fn a_file_is_asked_for_on_condition_once_it_is_kept() {
        let control = Control::start().unwrap();
        let (base, requests) = upstream([
            answer("200 OK", "ETag: \"a\"\r\nLast-Modified: Mon\r\n", "one\n"),
            answer("200 OK", "ETag: \"a\"\r\n", "one\n"),
            answer("304 Not Modified", "", ""),
            answer("200 OK", "", "two\n"),
        ]);
        let mut remote = RemoteFile::new(&format!("{base}/a.jsonl?token=x#y")).unwrap();
        assert_eq!(remote.name(), format!("{base}/a.jsonl"));
        read(&remote, &control).unwrap();
        let (validators, text) = read(&remote, &control).unwrap();
        assert_eq!(text, "one\n");
        remote.keep(validators);
        assert_eq!(read(&remote, &control), None);
        assert_eq!(read(&remote, &control).unwrap().1, "two\n");
        let requests = requests.lock();
        let has = |idx: usize| requests[idx].contains("if-none-match: \"a\"");
        assert_eq!(
            (0..4).map(has).collect::<Vec<_>>(),
            [false, false, true, true]
        );
        assert!(requests[0].starts_with("GET /a.jsonl?token=x "));
    }

    #[test]
    fn what_is_not_the_file_is_refused_without_its_secrets() {
        let control = Control::start().unwrap();
        let (base, _) = upstream([
            answer("401 Unauthorized", "", ""),
            answer(
                "200 OK",
                "Content-Type: text/html; charset=utf-8\r\n",
                "<p>",
            ),
        ]);
        let remote = RemoteFile::new(&format!("{base}/a?token=secret")).unwrap();
        for expected in ["answered 401", "an HTML page", "no answer"] {
            let error = control.block_on(remote.fetch()).err().unwrap();
            let text = subcat_engine::error_chain(&error);
            assert!(text.contains(expected), "{text}");
            assert!(!text.contains("secret"), "{text}");
        }
        for wrong in ["http://", "x"] {
            assert!(RemoteFile::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_body_that_is_cut_is_an_error() {
        let control = Control::start().unwrap();
        let cut = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nfour".to_owned();
        let (base, _) = upstream([cut]);
        let remote = RemoteFile::new(&base).unwrap();
        let content = control.block_on(remote.fetch()).unwrap().unwrap();
        let mut input = content.into_read(&control.handle());
        assert!(input.read_to_string(&mut String::new()).is_err());
    }
}
