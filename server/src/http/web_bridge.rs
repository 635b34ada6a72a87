//! Bridge to the web pages, which run on the control runtime.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, X_CONTENT_TYPE_OPTIONS,
};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};

use crate::api::ConnectionMemory;
use crate::request::HeadRejection;
use crate::respond::name_status;
use crate::runtime::{Body, Content, StoredBytes};
use crate::service::Service;
use crate::web::{PageBody, Site, handle, refuse};

/// Client of a page, and how it is connected.
pub(super) struct PageClient {
    address: IpAddr,
    is_https: bool,
}

impl PageClient {
    /// The client of a request, trusted proxies taken into account.
    pub(super) fn of(
        service: &Service,
        connection: &ConnectionMemory,
        headers: &HeaderMap,
    ) -> Self {
        let has_https_url = service.config().has_https_url();
        let proto = headers.get("x-forwarded-proto");
        let says_https = proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"));
        Self {
            address: connection.client_address(service, headers),
            is_https: has_https_url || (says_https && connection.is_proxied(service)),
        }
    }
}

/// The page that answers a request which HTTP's own rules refuse; `None` if it panicked. What is
/// left of the request is not read: the connection ends.
pub(super) async fn refusal(
    service: &Service,
    site: Arc<Site>,
    rejection: HeadRejection,
    head: Parts,
    client: PageClient,
) -> Option<Response<Body>> {
    let is_head = head.method == Method::HEAD;
    let PageClient { address, is_https } = client;
    let page = service
        .control
        .spawn(async move { refuse(&site, rejection, head.headers, address, is_https) });
    let mut response = page.await.ok()?.map(body_of);
    name_status(&mut response);
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    Some(if is_head {
        without_body(response)
    } else {
        response
    })
}

/// The page; `None` if it panicked.
pub(super) async fn answer(
    service: &Service,
    site: Arc<Site>,
    request: Request<Bytes>,
    client: PageClient,
) -> Option<Response<Body>> {
    let is_head = request.method() == Method::HEAD;
    let page = service
        .control
        .spawn(async move { handle(&site, request, client.address, client.is_https).await });
    let mut response = page.await.ok()?.map(body_of);
    name_status(&mut response);
    Some(if is_head {
        without_body(response)
    } else {
        response
    })
}

fn body_of(body: PageBody) -> Body {
    Body::from(match body {
        PageBody::Bytes(bytes) => Content::Bytes(bytes),
        PageBody::Blob(blob) => {
            let size_bytes = usize::try_from(blob.size_bytes()).unwrap_or(usize::MAX);
            Content::File(blob as Arc<dyn StoredBytes>, 0..size_bytes)
        }
    })
}

fn without_body(mut response: Response<Body>) -> Response<Body> {
    let length_bytes = response.body().content.len_bytes();
    if length_bytes != 0 {
        let length = HeaderValue::from(length_bytes);
        response.headers_mut().insert(CONTENT_LENGTH, length);
    }
    response.map(|_| Body::from(Content::Empty))
}

/// Response to a request whose page panicked.
pub(super) fn internal_error() -> Response<Body> {
    let body = Bytes::from_static(b"Internal Server Error\n");
    let mut response = Response::new(Body::from(Content::Bytes(body)));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
