//! The HTTP client that asks upstream for one file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::header::{ACCEPT_ENCODING, CONTENT_DISPOSITION, HeaderMap, HeaderValue};
use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response};
use subcat_engine::model::ReleaseId;

use super::counts::FetchCounts;
use super::fetch_error::FetchError;
use super::health::AttemptError;
use crate::config::UpstreamSettings;
use crate::runtime::time;

/// Redirects that are followed, at most (API.md, upstream).
const REDIRECTS_MAX: usize = 3;
/// How long to wait before each further attempt. Chosen here: a dead upstream is reported after
/// about three seconds, so that it does not hold clients for the whole time they have.
const PAUSES_MS: [u64; 3] = [200, 600, 1_800];
/// How long an unused connection is kept.
const IDLE_SECONDS: u64 = 60;

/// What upstream sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    /// The body, as it came.
    pub content: Vec<u8>,
    /// The header `Content-Disposition`.
    pub disposition: Option<Vec<u8>>,
    /// The path of the URL that answered, after redirects.
    pub url_path: String,
}

/// One upstream.
pub(super) struct Source {
    client: Client,
    url: String,
    bytes_max: usize,
    counts: Arc<FetchCounts>,
}

/// How one attempt ended.
enum Ended {
    Fetched(Fetched),
    Failed(FetchError),
    /// A connection error or a 5xx: worth another attempt.
    Again,
}

impl Source {
    /// A client for `settings.url`; `None` without one. Errors: no client can be made.
    pub(super) fn new(
        settings: &UpstreamSettings,
        counts: Arc<FetchCounts>,
    ) -> Result<Option<Self>, reqwest::Error> {
        let Some(url) = settings.url.clone() else {
            return Ok(None);
        };
        // A provider that someone installed before is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        let client = Client::builder()
            .user_agent(concat!("subcat/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers)
            .connect_timeout(Duration::from_secs(settings.connect_seconds.into()))
            .redirect(Policy::custom(same_host_only))
            .referer(false)
            .no_proxy()
            .hickory_dns(true)
            .pool_max_idle_per_host(settings.concurrency)
            .pool_idle_timeout(Duration::from_secs(IDLE_SECONDS))
            .build()?;
        Ok(Some(Self {
            client,
            url,
            bytes_max: settings.max_bytes,
            counts,
        }))
    }

    /// Fetches the file of a release, with retries. The caller bounds the time.
    pub(super) async fn fetch(&self, release: &ReleaseId) -> Result<Fetched, FetchError> {
        let url = self.url.replace("{source_release_id}", release.as_str());
        let mut pauses_ms = PAUSES_MS.into_iter();
        loop {
            match self.attempt(&url).await {
                Ended::Fetched(fetched) => return Ok(fetched),
                Ended::Failed(failure) => return Err(failure),
                Ended::Again => match pauses_ms.next() {
                    Some(pause_ms) => time::sleep(Duration::from_millis(pause_ms)).await,
                    None => return Err(FetchError::Unavailable),
                },
            }
        }
    }

    async fn attempt(&self, url: &str) -> Ended {
        self.counts.sent();
        let began = Instant::now();
        let response = match self.client.get(url).send().await {
            Ok(response) => response,
            Err(error) => {
                let is_final = error.is_redirect() || error.is_builder();
                let is_connect = error.is_connect();
                let (url, error) = (shown(url), told(error));
                tracing::warn!(url, error, "upstream does not answer");
                if is_final {
                    self.counts.refused(AttemptError::Redirected);
                    return Ended::Failed(FetchError::Unavailable);
                }
                self.counts.silent(if is_connect {
                    AttemptError::NoConnection
                } else {
                    AttemptError::Interrupted
                });
                return Ended::Again;
            }
        };
        let status = response.status();
        if status.is_success() {
            let ended = self.read(response).await;
            match ended {
                Ended::Fetched(_) | Ended::Failed(_) => self.counts.answered(began),
                Ended::Again => self.counts.silent(AttemptError::Interrupted),
            }
            return ended;
        }
        let error = AttemptError::Status(status.as_u16());
        let (url, status_number) = (shown(url), status.as_u16());
        tracing::warn!(url, status = status_number, "upstream refuses");
        if status.is_server_error() {
            self.counts.silent(error);
            Ended::Again
        } else {
            self.counts.refused(error);
            Ended::Failed(FetchError::Unavailable)
        }
    }

    /// Reads the body, and gives up as soon as it is too large.
    async fn read(&self, mut response: Response) -> Ended {
        let url_path = response.url().path().to_owned();
        let disposition = response.headers().get(CONTENT_DISPOSITION);
        let disposition = disposition.map(|value| value.as_bytes().to_vec());
        let bytes_max = self.bytes_max as u64;
        let announced = response.content_length().unwrap_or(0);
        if bytes_max < announced {
            tracing::warn!(
                url_path,
                announced,
                bytes_max,
                "upstream's file is too large"
            );
            return Ended::Failed(FetchError::Unusable);
        }
        let mut content = Vec::with_capacity(usize::try_from(announced).unwrap_or(0));
        loop {
            match response.chunk().await {
                Ok(Some(chunk)) if content.len() + chunk.len() <= self.bytes_max => {
                    self.counts.received(chunk.len());
                    content.extend_from_slice(&chunk);
                }
                Ok(Some(_)) => {
                    tracing::warn!(url_path, bytes_max, "upstream's file is too large");
                    return Ended::Failed(FetchError::Unusable);
                }
                Ok(None) => {
                    return Ended::Fetched(Fetched {
                        content,
                        disposition,
                        url_path,
                    });
                }
                Err(error) => {
                    tracing::warn!(url_path, error = told(error), "upstream breaks off");
                    return Ended::Again;
                }
            }
        }
    }
}

/// Redirects to another host, or away from https, are an answer that is no file.
fn same_host_only(attempt: Attempt<'_>) -> reqwest::redirect::Action {
    let Some(first) = attempt.previous().first() else {
        return attempt.follow();
    };
    let is_same_host = first.host_str() == attempt.url().host_str();
    let is_as_safe = first.scheme() == "http" || attempt.url().scheme() == "https";
    if REDIRECTS_MAX < attempt.previous().len() {
        return attempt.error("more than 3 redirects");
    }
    if is_same_host && is_as_safe {
        attempt.follow()
    } else {
        attempt.error("a redirect to another host")
    }
}

/// An address as the log shows it: without its query, which may hold a token.
fn shown(url: &str) -> &str {
    url.split_once('?').map_or(url, |(place, _)| place)
}

/// An error with its causes as the log shows it: without the address.
fn told(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(&error);
    while let Some(inner) = cause {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        cause = inner.source();
    }
    text
}

#[cfg(test)]
mod tests {
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
        let source = Source::new(&settings, Arc::default()).unwrap().unwrap();
        let control = Control::start().unwrap();
        control.block_on(source.fetch(&ReleaseId::parse("42").unwrap()))
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

    #[test]
    fn client_errors_are_final() {
        let (base, seen) = upstream(vec![answer("404 Not Found", "", "no")]);
        assert_eq!(fetch(&base, |_| {}), Err(FetchError::Unavailable));
        assert_eq!(seen.lock().len(), 1);
    }

    #[test]
    fn what_is_too_large_is_given_up() {
        let (base, _) = upstream(vec![answer("200 OK", "", "hola!")]);
        let small = |settings: &mut UpstreamSettings| settings.max_bytes = 4;
        assert_eq!(fetch(&base, small), Err(FetchError::Unusable));
        let unannounced = "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhola!".to_owned();
        let (base, _) = upstream(vec![unannounced]);
        assert_eq!(fetch(&base, small), Err(FetchError::Unusable));
        let (base, _) = upstream(vec![answer("200 OK", "", "hola")]);
        assert_eq!(fetch(&base, small).unwrap().content, b"hola");
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

    /// A query may hold a token, and logs are read by others.
    #[test]
    fn what_is_logged_holds_no_query() {
        assert_eq!(shown("http://a/b?token=secret"), "http://a/b");
        assert_eq!(shown("http://a/b"), "http://a/b");
        let settings = UpstreamSettings {
            url: Some("http://127.0.0.1:1/{source_release_id}?token=secret".into()),
            ..UpstreamSettings::default()
        };
        let source = Source::new(&settings, Arc::default()).unwrap().unwrap();
        let control = Control::start().unwrap();
        let error = control.block_on(source.client.get(&source.url).send());
        let error = error.unwrap_err();
        assert!(error.to_string().contains("secret"), "{error}");
        let told = told(error);
        assert!(!told.contains("secret"), "{told}");
        assert!(told.contains("refused"), "{told}");
    }

    #[test]
    fn without_a_url_there_is_no_source() {
        let settings = UpstreamSettings::default();
        assert!(Source::new(&settings, Arc::default()).unwrap().is_none());
    }
}
