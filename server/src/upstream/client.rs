//! The HTTP client that requests files from upstream.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{
    ACCEPT_ENCODING, CONTENT_DISPOSITION, CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderValue,
    RETRY_AFTER, TRANSFER_ENCODING,
};
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url, Version};
use subcat_engine::{ReleaseId, error_chain};

use super::counts::FetchCounts;
use super::fetch_error::FetchError;
use super::health::AttemptError;
use super::http_client::{ClientSetupError, client_builder};
use crate::config::{UpstreamSettings, scheme_and_host};
use crate::files::{Completeness, completeness};
use crate::limits::UPSTREAM_REDIRECTS_MAX;
use tokio::time;

/// Pauses before the second, third and fourth attempt. Chosen here: a dead upstream is reported
/// after about three seconds instead of holding clients until the timeout.
const RETRY_PAUSES_MS: [u64; 3] = [200, 600, 1_800];
/// Maximum idle time of a connection.
const IDLE_SECONDS: u64 = 60;

/// A file as upstream sent it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The body, not decoded.
    pub content: Vec<u8>,
    /// True if it is known to be whole: by its announced length, or by the end of its kind.
    pub is_whole: bool,
    /// Media type of the answer, if it is that of a document: a page, JSON, XML.
    pub document_type: Option<String>,
    /// Value of the header `Content-Disposition`.
    pub disposition: Option<Vec<u8>>,
    /// Path of the URL that answered, after redirects.
    pub url_path: String,
}

/// Client of the configured upstream.
pub(super) struct UpstreamClient {
    http: Client,
    /// Template of a file's address, with `{source_release_id}`.
    url: String,
    bytes_max: usize,
    counts: Arc<FetchCounts>,
}

/// Outcome of one attempt.
enum AttemptOutcome {
    Fetched(Fetched),
    /// A further attempt would end in the same way.
    Failed(FetchError),
    /// A connection error or a 5xx: the next attempt may succeed.
    Retry(AttemptError),
}

/// Reason why a redirect is not followed.
#[derive(Debug, thiserror::Error)]
enum RedirectError {
    #[error("more than {UPSTREAM_REDIRECTS_MAX} redirects")]
    TooMany,
    #[error("a redirect to another host or port, or from https to http")]
    OtherOrigin,
}

impl UpstreamClient {
    /// A client for `settings.url`; `None` if it is not set.
    ///
    /// Errors: those of [`ClientSetupError`].
    pub(super) fn new(
        settings: &UpstreamSettings,
        counts: Arc<FetchCounts>,
    ) -> Result<Option<Self>, ClientSetupError> {
        let Some(url) = settings.url.clone() else {
            return Ok(None);
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let http = client_builder("upstream.url", &url)?
            .default_headers(headers)
            .connect_timeout(Duration::from_secs(settings.connect_seconds.into()))
            .redirect(Policy::custom(follow_on_same_origin))
            .pool_max_idle_per_host(settings.concurrency)
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS))
            .build()?;
        Ok(Some(Self {
            http,
            url,
            bytes_max: settings.max_bytes,
            counts,
        }))
    }

    /// Fetches the file of a release, with retries if `is_retried`. The caller sets the timeout.
    pub(super) async fn fetch(
        &self,
        release: &ReleaseId,
        is_retried: bool,
    ) -> Result<Fetched, FetchError> {
        let url = self.url.replace("{source_release_id}", release.as_str());
        let mut pauses_ms = RETRY_PAUSES_MS.into_iter();
        loop {
            match self.attempt(&url, release).await {
                AttemptOutcome::Fetched(fetched) => return Ok(fetched),
                AttemptOutcome::Failed(error) => return Err(error),
                AttemptOutcome::Retry(error) => {
                    let pause_ms = pauses_ms.next().filter(|_| is_retried);
                    // A failed connection shows that upstream is down. A broken answer concerns one
                    // file, however often it is requested: it counts once.
                    if pause_ms.is_none() || error == AttemptError::NoConnection {
                        self.counts.record_no_answer(error, release);
                    }
                    match pause_ms {
                        Some(pause_ms) => time::sleep(with_jitter(pause_ms)).await,
                        None => return Err(FetchError::Unavailable),
                    }
                }
            }
        }
    }

    /// Sends one request and records its outcome for the health report.
    ///
    /// An answer with a 4xx proves that upstream works, so it counts as a rejection of this file;
    /// a 5xx counts as no answer, once all attempts ended so.
    async fn attempt(&self, url: &str, release: &ReleaseId) -> AttemptOutcome {
        self.counts.record_attempt();
        let began = Instant::now();
        let response = match self.http.get(url).send().await {
            Ok(response) => response,
            Err(error) => return self.send_failed(url, release, error),
        };
        let status = response.status();
        // A 202 has no file yet and a 206 has a part of it: only a 200 comes with the whole file.
        if status == StatusCode::OK {
            let outcome = self.read(response, release).await;
            match outcome {
                // A file of the wrong size is upstream's answer, too.
                AttemptOutcome::Fetched(_) | AttemptOutcome::Failed(_) => {
                    self.counts.record_success(began);
                }
                AttemptOutcome::Retry(_) => {}
            }
            return outcome;
        }
        let error = AttemptError::Status(status.as_u16());
        let (host, status_number) = (scheme_and_host(url), status.as_u16());
        tracing::warn!(host, %release, status = status_number, "upstream rejected the request");
        if let Some(pause) = retry_after(response.headers())
            && matches!(status_number, 429 | 503)
        {
            tracing::warn!(seconds = pause.as_secs(), "upstream asks to be left alone");
            self.counts.breaker.suspend(pause, Instant::now());
            // A retry would ignore the pause that upstream asks for.
            self.counts.record_rejection(error);
            return AttemptOutcome::Failed(FetchError::Unavailable);
        }
        if status.is_server_error() {
            AttemptOutcome::Retry(error)
        } else {
            self.counts.record_rejection(error);
            AttemptOutcome::Failed(FetchError::Unavailable)
        }
    }

    /// Records a request that got no response.
    fn send_failed(&self, url: &str, release: &ReleaseId, error: reqwest::Error) -> AttemptOutcome {
        let is_redirect = error.is_redirect() || error.is_builder();
        let is_connect = error.is_connect();
        // Neither the address nor the error may show more in the log: there may be a token.
        let (host, error) = (scheme_and_host(url), error_chain(&error.without_url()));
        tracing::warn!(host, %release, error, "upstream did not answer");
        if is_redirect {
            // The next attempt would be redirected to the same place.
            self.counts.record_rejection(AttemptError::Redirected);
            return AttemptOutcome::Failed(FetchError::Unavailable);
        }
        AttemptOutcome::Retry(if is_connect {
            AttemptError::NoConnection
        } else {
            AttemptError::Interrupted
        })
    }

    /// Reads the body, and stops as soon as it is larger than allowed: a wrong or missing
    /// `Content-Length` must not fill the memory.
    async fn read(&self, mut response: Response, release: &ReleaseId) -> AttemptOutcome {
        let url_path = response.url().path().to_owned();
        let document_type = response.headers().get(CONTENT_TYPE).and_then(document_type);
        let has_length = is_delimited(&response);
        let disposition = response.headers().get(CONTENT_DISPOSITION);
        let disposition = disposition.map(|value| value.as_bytes().to_vec());
        let bytes_max = self.bytes_max as u64;
        let announced = response.content_length().unwrap_or(0);
        if bytes_max < announced {
            tracing::warn!(
                %release,
                announced,
                bytes_max,
                "upstream's file is too large"
            );
            return AttemptOutcome::Failed(FetchError::Unusable);
        }
        let mut content = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if content.len() + chunk.len() <= self.bytes_max => {
                    self.counts.record_bytes(chunk.len());
                    content.extend_from_slice(&chunk);
                }
                Ok(Some(_)) => {
                    tracing::warn!(%release, bytes_max, "upstream's file is too large");
                    return AttemptOutcome::Failed(FetchError::Unusable);
                }
                Ok(None) => {
                    let completeness = if has_length {
                        Completeness::Whole
                    } else {
                        completeness(&content)
                    };
                    if completeness == Completeness::Cut {
                        let bytes = content.len();
                        tracing::warn!(%release, bytes, "upstream sent a part of an archive");
                        return AttemptOutcome::Retry(AttemptError::Interrupted);
                    }
                    return AttemptOutcome::Fetched(Fetched {
                        content,
                        is_whole: completeness == Completeness::Whole,
                        document_type,
                        disposition,
                        url_path,
                    });
                }
                Err(error) => {
                    let error = error_chain(&error.without_url());
                    tracing::warn!(%release, error, "upstream closed the connection early");
                    return AttemptOutcome::Retry(AttemptError::Interrupted);
                }
            }
        }
    }
}

/// Follows a redirect that stays where the operator pointed: a token in the address must not reach
/// another service, nor another service's answer be stored as a file.
fn follow_on_same_origin(attempt: Attempt<'_>) -> Action {
    let Some(first) = attempt.previous().first() else {
        return attempt.follow();
    };
    if UPSTREAM_REDIRECTS_MAX < attempt.previous().len() {
        return attempt.error(RedirectError::TooMany);
    }
    if is_same_origin(first, attempt.url()) {
        attempt.follow()
    } else {
        attempt.error(RedirectError::OtherOrigin)
    }
}

/// True if scheme, host and port are equal, or the redirect is only one from http to https.
fn is_same_origin(first: &Url, next: &Url) -> bool {
    if first.host_str() != next.host_str() {
        return false;
    }
    let is_upgrade = first.scheme() == "http" && next.scheme() == "https";
    if is_upgrade && first.port().is_none() && next.port().is_none() {
        // Both have the default port of their scheme.
        return true;
    }
    let is_same_scheme = first.scheme() == next.scheme() || is_upgrade;
    is_same_scheme && first.port_or_known_default() == next.port_or_known_default()
}

/// True if the end of the body is announced: one that ends with its connection may be cut.
fn is_delimited(response: &Response) -> bool {
    let headers = response.headers();
    headers.contains_key(CONTENT_LENGTH)
        || headers.contains_key(TRANSFER_ENCODING)
        || Version::HTTP_11 < response.version()
}

/// The media type if it is that of error pages or of APIs: `text/html`, JSON, XML.
fn document_type(media_type: &HeaderValue) -> Option<String> {
    let text = String::from_utf8_lossy(media_type.as_bytes()).to_ascii_lowercase();
    let essence = text.split(';').next().unwrap_or_default().trim();
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    let is_document = matches!(subtype, "html" | "json" | "xml")
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml");
    is_document.then(|| essence.to_owned())
}

/// The pause in `Retry-After`. Dates are ignored: upstream's clock is not known here.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    text.trim().parse().ok().map(Duration::from_secs)
}

/// A pause of three to five quarters of this length: fetches that failed together must not retry
/// together.
fn with_jitter(pause_ms: u64) -> Duration {
    let random = RandomState::new().hash_one(pause_ms);
    Duration::from_millis(pause_ms * 3 / 4 + random % (pause_ms / 2).max(1))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::runtime::Control;
    use crate::upstream::test_server::{answer, upstream};

    fn fetch(
        base: &str,
        change: impl FnOnce(&mut UpstreamSettings),
    ) -> Result<Fetched, FetchError> {
        let mut settings = UpstreamSettings {
            url: Some(format!("{base}/f/{{source_release_id}}")),
            ..UpstreamSettings::default()
        };
        change(&mut settings);
        let client = UpstreamClient::new(&settings, Arc::default())
            .unwrap()
            .unwrap();
        let control = Control::start().unwrap();
        control.block_on(client.fetch(&ReleaseId::parse("42").unwrap(), true))
    }

    #[test]
    fn a_file_comes_with_its_name_and_path() {
        let header = "Content-Disposition: attachment; filename=a.srt\r\n";
        let (base, seen) = upstream(vec![answer("200 OK", header, "hola")]);
        let fetched = fetch(&base, |_| {}).unwrap();
        assert_eq!(fetched.content, b"hola");
        assert_eq!(fetched.disposition.unwrap(), b"attachment; filename=a.srt");
        assert_eq!(fetched.url_path, "/f/42");
        let request = seen.lock()[0].to_lowercase();
        assert!(request.starts_with("get /f/42 http/1.1\r\n"), "{request}");
        assert!(
            request.contains("\r\naccept-encoding: identity\r\n"),
            "{request}"
        );
        assert!(request.contains("\r\nuser-agent: subcat/"), "{request}");
    }

    #[test]
    fn an_encoded_body_is_not_decoded() {
        let (base, _) = upstream(vec![answer("200 OK", "Content-Encoding: gzip\r\n", "raw")]);
        assert_eq!(fetch(&base, |_| {}).unwrap().content, b"raw");
    }

    #[test]
    fn server_errors_and_broken_connections_are_tried_again() {
        let broken = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart".to_owned();
        let answers = vec![
            answer("503 Service Unavailable", "", ""),
            broken,
            answer("200 OK", "", "hola"),
        ];
        let (base, seen) = upstream(answers);
        assert_eq!(fetch(&base, |_| {}).unwrap().content, b"hola");
        assert_eq!(seen.lock().len(), 3);
    }

    /// An address that accepts no connection: a listener with a full queue. The kernel hears as
    /// little of it as of an address that leads nowhere. The streams fill the queue.
    fn unroutable() -> (String, TcpListener, Vec<TcpStream>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let address = listener.local_addr().unwrap();
        let patience = Duration::from_millis(300);
        let connect = || TcpStream::connect_timeout(&address, patience).ok();
        let queue = std::iter::from_fn(connect).take(100).collect::<Vec<_>>();
        assert!(queue.len() < 100, "the queue is never full");
        (format!("http://{address}"), listener, queue)
    }

    /// Long before `upstream.timeout_seconds`.
    #[test]
    fn an_upstream_that_cannot_be_reached_is_given_up_after_the_time_to_connect() {
        let (base, _listener, _queue) = unroutable();
        let settings = UpstreamSettings {
            url: Some(format!("{base}/{{source_release_id}}")),
            connect_seconds: 1,
            ..UpstreamSettings::default()
        };
        let counts = Arc::<FetchCounts>::default();
        let client = UpstreamClient::new(&settings, Arc::clone(&counts));
        let client = client.unwrap().unwrap();
        let control = Control::start().unwrap();
        let began = Instant::now();
        let fetched = control.block_on(client.fetch(&ReleaseId::parse("42").unwrap(), false));
        let took = began.elapsed();
        assert_eq!(fetched, Err(FetchError::Unavailable));
        assert!(Duration::from_secs(1) <= took, "{took:?}");
        assert!(took < Duration::from_secs(10), "{took:?}");
        let last_error = counts.health(0).last_error.map(|(_, error)| error);
        assert_eq!(last_error, Some(AttemptError::NoConnection));
    }

    /// Three pauses, so four attempts; then it is enough.
    #[test]
    fn an_upstream_that_stays_broken_is_given_up() {
        let busy = || answer("503 Service Unavailable", "", "");
        let (base, seen) = upstream(std::iter::repeat_with(busy));
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        assert_eq!(seen.lock().len(), 1 + RETRY_PAUSES_MS.len());
    }

    #[test]
    fn client_errors_are_final() {
        let (base, seen) = upstream(vec![answer("404 Not Found", "", "no")]);
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        assert_eq!(seen.lock().len(), 1);
    }

    #[test]
    fn a_body_that_is_too_large_is_abandoned() {
        let (base, _) = upstream(vec![answer("200 OK", "", "hola!")]);
        let small = |settings: &mut UpstreamSettings| settings.max_bytes = 4;
        assert_eq!(fetch(&base, small), Err(FetchError::Unusable));
        let unannounced = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhola!".to_owned();
        let (base, _) = upstream(vec![unannounced]);
        assert_eq!(fetch(&base, small), Err(FetchError::Unusable));
        let (base, _) = upstream(vec![answer("200 OK", "", "hola")]);
        assert_eq!(fetch(&base, small).unwrap().content, b"hola");
    }

    /// Each chunk is within the limit; only their sum is not.
    #[test]
    fn a_body_of_small_chunks_is_too_large_as_a_whole() {
        let chunked = |chunks_count: usize| {
            let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";
            let chunks = "1\r\nx\r\n".repeat(chunks_count);
            format!("{head}{chunks}0\r\n\r\n")
        };
        let small = |settings: &mut UpstreamSettings| settings.max_bytes = 1000;
        let (base, _) = upstream(vec![chunked(1000)]);
        assert_eq!(fetch(&base, small).unwrap().content, [b'x'; 1000]);
        let (base, _) = upstream(vec![chunked(1001)]);
        assert_eq!(fetch(&base, small), Err(FetchError::Unusable));
    }

    #[test]
    fn redirects_stay_on_the_host_and_are_few() {
        let to = |place: &str| answer("302 Found", &format!("Location: {place}\r\n"), "");
        let file = answer("200 OK", "", "hola");
        let (base, _) = upstream(vec![to("/a"), to("/b"), to("/c.srt"), file]);
        assert_eq!(fetch(&base, |_| {}).unwrap().url_path, "/c.srt");
        let (base, seen) = upstream(vec![to("/a"), to("/b"), to("/c"), to("/d")]);
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        assert_eq!(seen.lock().len(), 4);
        let (base, seen) = upstream(vec![to("http://localhost:1/a")]);
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        assert_eq!(seen.lock().len(), 1);
    }

    #[test]
    fn a_redirect_to_a_living_server_on_another_port_or_host_is_not_followed() {
        for host in ["127.0.0.1", "localhost"] {
            let (other, other_seen) = upstream(vec![answer("200 OK", "", "stolen")]);
            let other = other.replace("127.0.0.1", host);
            let location = format!("Location: {other}/a\r\n");
            let (base, seen) = upstream(vec![answer("302 Found", &location, "")]);
            assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
            assert_eq!(seen.lock().len(), 1);
            assert!(other_seen.lock().is_empty(), "{host} was asked");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let check = |first: &str, next: &str, expected: bool| {
            let (first_url, next_url) = (first.parse().unwrap(), next.parse().unwrap());
            assert_eq!(
                is_same_origin(&first_url, &next_url),
                expected,
                "{first} {next}"
            );
        };
        check("http://a/x", "http://a/y", true);
        check("http://a/x", "http://a:80/y", true);
        check("http://a:8080/x", "http://a:8080/y", true);
        check("http://a/x", "https://a/y", true);
        check("http://a:80/x", "https://a:443/y", true);
        check("http://a:8080/x", "https://a:8080/y", true);
        check("https://a/x", "http://a/y", false);
        check("https://a:8443/x", "http://a:8443/y", false);
        check("http://a/x", "http://a:9090/y", false);
        check("http://a:8080/x", "https://a/y", false);
        check("http://a/x", "http://b/y", false);
        check("http://a/x", "https://a:8443/y", false);
    }

    #[test]
    fn only_200_comes_with_the_file() {
        for status in [
            "202 Accepted",
            "203 Non-Authoritative Information",
            "206 Partial Content",
        ] {
            let (base, seen) = upstream(vec![answer(status, "", "preparing")]);
            assert_eq!(
                fetch(&base, |_| {}),
                Err(FetchError::Unavailable),
                "{status}"
            );
            assert_eq!(seen.lock().len(), 1);
        }
    }

    #[test]
    fn documents_are_named_by_their_media_type() {
        for (media_type, expected) in [
            ("text/html; charset=utf-8", Some("text/html")),
            ("application/json", Some("application/json")),
            ("Application/Problem+JSON", Some("application/problem+json")),
            ("text/xml", Some("text/xml")),
            ("application/xhtml+xml", Some("application/xhtml+xml")),
            ("application/x-subrip", None),
            ("text/plain", None),
            ("application/zip", None),
        ] {
            let header = format!("Content-Type: {media_type}\r\n");
            let (base, _) = upstream(vec![answer("200 OK", &header, "hola")]);
            let fetched = fetch(&base, |_| {}).unwrap();
            assert_eq!(fetched.document_type.as_deref(), expected, "{media_type}");
        }
    }

    /// A body that ends with its connection may have been cut: an archive is requested again.
    #[test]
    fn a_body_without_a_length_is_whole_if_its_kind_says_so() {
        let head = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
        let until_close = move |body: &str| format!("{head}{body}");
        let empty_zip = format!("PK\u{5}\u{6}{}", "\0".repeat(18));
        let cut = "PK\u{3}\u{4} and so on";
        let (base, seen) = upstream(vec![until_close(cut), until_close(&empty_zip)]);
        let fetched = fetch(&base, |_| {}).unwrap();
        assert_eq!(
            (fetched.content, fetched.is_whole),
            (empty_zip.into_bytes(), true)
        );
        assert_eq!(seen.lock().len(), 2);
        let (base, _) = upstream(std::iter::repeat_with(move || until_close(cut)));
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        let (base, _) = upstream(vec![until_close("1\n00:00")]);
        assert!(!fetch(&base, |_| {}).unwrap().is_whole);
        for body in ["1\n00:00", cut] {
            let (base, _) = upstream(vec![answer("200 OK", "", body)]);
            assert!(
                fetch(&base, |_| {}).unwrap().is_whole,
                "its length was told"
            );
        }
    }

    /// A query may hold a token, and logs are read by others.
    #[test]
    fn logs_never_contain_the_query() {
        let settings = UpstreamSettings {
            url: Some("http://127.0.0.1:1/{source_release_id}?token=secret".into()),
            ..UpstreamSettings::default()
        };
        let client = UpstreamClient::new(&settings, Arc::default())
            .unwrap()
            .unwrap();
        let control = Control::start().unwrap();
        let error = control.block_on(client.http.get(&client.url).send());
        let error = error.unwrap_err();
        assert!(error.to_string().contains("secret"), "{error}");
        let logged = error_chain(&error.without_url());
        assert!(!logged.contains("secret"), "{logged}");
        assert!(logged.contains("refused"), "{logged}");
    }

    #[test]
    fn without_a_url_there_is_no_client() {
        let settings = UpstreamSettings::default();
        assert!(
            UpstreamClient::new(&settings, Arc::default())
                .unwrap()
                .is_none()
        );
    }

    #[test]
    fn pauses_are_scattered() {
        for pause_ms in RETRY_PAUSES_MS {
            let pauses: Vec<u128> = (0..50).map(|_| with_jitter(pause_ms).as_millis()).collect();
            let range = u128::from(pause_ms * 3 / 4)..=u128::from(pause_ms * 5 / 4);
            assert!(
                pauses.iter().all(|pause| range.contains(pause)),
                "{pauses:?}"
            );
            assert!(pauses.iter().any(|pause| *pause != pauses[0]));
        }
    }
}
